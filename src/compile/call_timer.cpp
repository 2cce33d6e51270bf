// Which calls of a compiled function are timed, and what follows: Note [Graphs that are slower] (worth/graph_trial.h),
// Note [Calls that pass by] (function_state.h).
#include "src/compile/function_state.h"

#include <shunt/core/log.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace shunt::detail {

using compiled::GraphTrial;

namespace {

constexpr int64_t kLook = 200;         // ns, for which
constexpr int64_t kPartOfLooks = 100;  // times as long is spent in calls,
constexpr int64_t kMostPassing = 63;   // but so many at most

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void CompiledFunction::CallTimer::startCall() {
  what_ = What::kCall;
  began_ = now();
}

void CompiledFunction::CallTimer::startMiss(const CompileKind& kind) {
  what_ = What::kMiss;
  kind_ = kind;
  began_ = now();
}

void CompiledFunction::CallTimer::startTurn(const Variant& variant, int turn) {
  what_ = What::kTurn;
  variant_ = &variant;
  turn_ = turn;
  began_ = now();
}

SHUNT_NOINLINE void CompiledFunction::CallTimer::stop() noexcept try {
  const int64_t ns = now() - began_;
  if (what_ == What::kTurn) return state_.tookTurn(*variant_, turn_, ns);
  if (what_ == What::kMiss) {
    const std::lock_guard lock(state_.mutex);
    state_.seen.took(kind_, ns * state_.callsOfALook());
  }
  state_.letPass(ns);
} catch (const std::exception&) {  // no memory for a text
}

CompiledFunction::Decision CompiledFunction::State::call(CallTimer& timer, const char* why) {
  if (why != nullptr) unusual.store(why, std::memory_order_relaxed);
  tally.eager.fetch_add(1, std::memory_order_relaxed);
  if (mayPass()) timer.startCall();
  return {};
}

SHUNT_NOINLINE CompiledFunction::Decision CompiledFunction::State::callInTrial(const Variant& variant,
                                                                               const CompileArguments& arguments,
                                                                               CallTimer& timer) {
  GraphTrial& trial = variant.trial;
  const auto calls = static_cast<uint64_t>(callsOfALook());
  if (trial.mode() == GraphTrial::Mode::kFunction && trial.passed(calls)) {
    setInUse(variant, true);
    trial.open();
  }
  if (trial.mode() == GraphTrial::Mode::kOpen) {
    const GraphTrial::Turn turn = trial.take();
    timer.startTurn(variant, turn.number);
    if (turn.isGraphs()) {
      find(arguments);  // as calls do that aren't timed
      return {Way::kRun, &variant};
    }
  } else if (trial.mode() == GraphTrial::Mode::kFunction) {
    letPass(trial.functionNs());
  } else {  // another thread has ended it
    return {Way::kRun, &variant};
  }
  tally.eager.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void CompiledFunction::State::tookTurn(const Variant& variant, int turn, int64_t ns) {
  if (!variant.trial.took({turn}, ns, variant.runs->begun.load(std::memory_order_relaxed))) return;
  const std::string slower = variant.trial.describe();
  if (slower.empty()) return;
  setInUse(variant, false);
  log(LogLevel::kInfo, str(options.name, ": calls run the function, as ", slower, ", for the graph recorded ",
                           variant.guard->describe()));
}

void CompiledFunction::State::letPass(int64_t ns) {
  const int64_t many = mayPass() ? std::min(kLook * kPartOfLooks / std::max<int64_t>(ns, 1), kMostPassing) : 0;
  const auto passing = static_cast<uint32_t>(many);
  passing_last.store(passing, std::memory_order_relaxed);
  if (passing == 0 && tally.passing.load(std::memory_order_relaxed) == 0) return;
  tally.eager.fetch_add(passing - uint64_t{tally.passing.exchange(passing)}, std::memory_order_relaxed);
}

void CompiledFunction::State::setInUse(const Variant& variant, bool is_in_use) {
  if (variant.is_in_use.exchange(is_in_use, std::memory_order_relaxed) == is_in_use) return;
  graphs_in_use.fetch_add(is_in_use ? 1 : -1, std::memory_order_relaxed);
}

}  // namespace shunt::detail
