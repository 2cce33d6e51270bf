#include "src/tiering/recording.h"

#include <algorithm>
#include <new>

namespace shunt {
namespace jit {
namespace {

using detail::tls_state;

constinit thread_local Recording* current SHUNT_TLS_MODEL = nullptr;

}  // namespace

Recording::Recording()
    : outer_(current), depth_(detail::threadFrames().depth()), timing_left_(tls_state.timing_countdown) {
  takeCountdown();
  tls_state.hot_calls += static_cast<uint64_t>(tls_state.timing_distance - tls_state.timing_countdown);
  tls_state.timing_distance = tls_state.timing_countdown = 1;
  current = this;
}

Recording::~Recording() {
  current = outer_;
  tls_state.observe_countdown = left_;
  tls_state.timing_distance = tls_state.timing_countdown = timing_left_;
  if (outer_ != nullptr) outer_->takeCountdown();
}

void Recording::takeCountdown() {
  left_ = tls_state.observe_countdown;
  tls_state.observe_countdown = 1;
}

void Recording::called(const Operator& op, DispatchKeySet keys) {
  const int below = detail::threadFrames().depth() - depth_ - 1;
  if (below < 0 || below >= kMaxDepth) return;
  const auto free =
      std::find_if(calls_.begin(), calls_.end(), [&](const InnerCall& c) { return c.op == nullptr || c.op == &op; });
  at_[below] = free != calls_.end() ? &*free : nullptr;
  if (free != calls_.end() && free->op == nullptr) *free = {&op, keys.raw(), false};
}

void Recording::calledInAll(const Operator& op, DispatchKeySet keys) {
  for (Recording* r = current; r != nullptr; r = r->outer_) r->called(op, keys);
}

Recording* Recording::begin() noexcept { return new (std::nothrow) Recording; }

bool Recording::end(Recording* recording, CompileRequest& request) noexcept {
  if (recording == nullptr) return false;
  request.calls = recording->calls_;
  recording->settings_.addTo(request.settings);
  delete recording;
  return true;
}

bool Recording::sample(const Operator& op, DispatchKeySet keys) noexcept {
  if (current == nullptr) return true;
  calledInAll(op, keys);
  if (--current->left_ <= 0) return true;
  tls_state.observe_countdown = 1;
  return false;
}

void Recording::sampled() noexcept {
  if (current != nullptr) current->takeCountdown();
}

bool Recording::timed(const Operator& op, DispatchKeySet keys) noexcept {
  if (current == nullptr) return false;
  calledInAll(op, keys);
  tls_state.timing_distance = tls_state.timing_countdown = 1;
  return true;
}

void Recording::loopRan(int32_t depth) noexcept {
  for (Recording* r = current; r != nullptr; r = r->outer_) {
    const int below = depth - r->depth_ - 1;
    if (below >= 0 && below < kMaxDepth && r->at_[below] != nullptr) r->at_[below]->has_loop = true;
  }
}

}  // namespace jit

void detail::recordInnerLoop(int32_t depth) { jit::Recording::loopRan(depth); }

}  // namespace shunt
