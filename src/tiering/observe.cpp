// Observing: now and then an interpreted call of a thread counts for its pair; the call that makes it hot is recorded
// for the compiler. Note [Hot entries] (core/hot.h) and pairs.h.
//
// Note [Uneven samples]
// Programs repeat themselves: of a loop of six operators, every 128th call would only ever be one of three. So the
// distance to the next sample is drawn from 1 to twice the period, and a sample counts for as many calls as it came
// after.
#include "src/dispatch/profile.h"
#include "src/tensor/large_blocks.h"
#include "src/tiering/compiler.h"
#include "src/tiering/pairs.h"
#include "src/tiering/recording.h"
#include "src/tiering/sampling.h"
#include "src/tiering/switches.h"

#include <shunt/jit/kernel_library.h>

#include <exception>

namespace shunt {
namespace jit {
namespace {

// -1: as the environment says.
std::atomic<int> enabled_by_call{-1};

// While everything a thread samples is settled (refused, or the map is full) it samples ever more rarely.
constexpr int64_t kLongestPeriod = 4096;
// How soon a thread sees that the JIT was turned on.
constexpr int64_t kDisabledPeriod = int64_t{1} << 16;

}  // namespace

bool enabled() {
  const int by_call = enabled_by_call.load(std::memory_order_relaxed);
  return by_call < 0 ? switches().enabled : by_call != 0;
}

namespace detail_observe {
/// A thread's samples.
struct Sampling {
  int64_t period = 0;
  int64_t distance = 0;  // what the countdown that now ends began with
  Distances distances;

  void next(Pairs::Answer answer, int64_t least) {
    if (answer == Pairs::Answer::kSettled)
      period = std::min(period * 2, std::max(least, kLongestPeriod));
    else
      period = least;
    if (least == 1) period = 1;
    distance = distances.draw(period);
    shunt::detail::tls_state.observe_countdown = distance;
  }
};
constinit thread_local Sampling sampling SHUNT_TLS_MODEL;
}  // namespace detail_observe

void setEnabledByCall(bool on) { enabled_by_call.store(on ? 1 : 0, std::memory_order_relaxed); }

}  // namespace jit

namespace detail {

int64_t firstCountdown() {
  if (profile::isOn()) return 1;
  return jit::enabled() ? jit::switches().period : jit::kDisabledPeriod;
}

ObservedCall::ObservedCall(const OpState& state, DispatchKeySet ks, uint64_t signature)
    : state_(&state), keys_(ks), signature_(signature) {
  if (profile::isOn()) {  // Note [Profiles]
    profile::begin(*state.op(), ks);
    tls_state.observe_countdown = 1;
    return;
  }
  if (!jit::Recording::sample(*state.op(), ks)) return;
  releaseIdleLargeBlocks();
  if (!jit::enabled()) {
    tls_state.observe_countdown = jit::kDisabledPeriod;
    jit::Recording::sampled();
    return;
  }
  const jit::Switches& switches = jit::switches();
  auto& sampling = jit::detail_observe::sampling;
  if (sampling.period == 0) sampling.period = sampling.distance = switches.period;
  // Calls with keys 0 have no tensors and nothing to specialise.
  auto answer = jit::Pairs::Answer::kSettled;
  if (ks.raw() != 0)
    answer = jit::Pairs::instance().observe({state.op(), ks.raw(), signature}, &state, sampling.distance,
                                            switches.threshold);
  sampling.next(answer, switches.period);
  jit::Compiler::instance().pulse();
  if (answer == jit::Pairs::Answer::kHot) {
    exceptions_ = std::uncaught_exceptions();
    hot_ = true;
    record_.depth = threadFrames().depth();
    outer_ = tls_state.record;
    tls_state.record = &record_;
    calls_ = jit::Recording::begin();
  }
  if (calls_ == nullptr) jit::Recording::sampled();
}

ObservedCall::~ObservedCall() {
  if (profile::isOn()) profile::end();
  if (!hot_) return;
  tls_state.record = outer_;
  const jit::PairKey key{state_->op(), keys_.raw(), signature_};
  jit::CompileRequest request{key.op, key.keys, key.signature};
  request.kinds[0] = record_;
  request.counters = jit::Pairs::instance().counters(key);
  request.misses = jit::Pairs::instance().misses(key);
  const bool recorded = jit::Recording::end(calls_, request);
  if (record_.form != LoopRecord::kUnseen) jit::Recording::loopRan(record_.depth);  // for calls around this one
  request.library_generation = jit::libraryGeneration();
  request.tier = jit::Pairs::instance().tierFor(key);
  request.only_this_tier = !jit::switches().recompile;
  const bool threw = std::uncaught_exceptions() > exceptions_;
  const bool asked = recorded && !threw;
  if (!asked || !(jit::switches().sync ? (jit::Compiler::instance().compileNow(request), true)
                                       : jit::Compiler::instance().submit(request)))
    jit::Pairs::instance().backToCounting(key);
}

}  // namespace detail
}  // namespace shunt
