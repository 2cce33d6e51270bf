// Which calls of a compiled function are timed, and what follows: Note [Graphs that are slower] (worth/graph_trial.h),
// Note [Calls that pass by] (function_state.h).
#include "src/compile/function_state.h"
#include "src/compile/recording_turn.h"

#include <shunt/core/log.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace shunt::detail {

using compiled::GraphTrial;

namespace {

// A look takes some 200 ns, and is to take a hundredth of the time of the calls that it lets pass by.
constexpr int64_t kTimeForOneLook = 200 * 100;
constexpr int64_t kMostPassing = 63;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void CompiledFunction::CallTimer::start(What what) {
  what_ = what;
  exceptions_ = std::uncaught_exceptions();
  began_ = now();
}

void CompiledFunction::CallTimer::startMiss(const CompileKind& kind) {
  kind_ = kind;
  start(What::kMiss);
}

void CompiledFunction::CallTimer::startTurn(const Variant& variant) {
  variant_ = &variant;
  start(What::kTurn);
}

SHUNT_NOINLINE void CompiledFunction::CallTimer::stop() noexcept try {
  const int64_t ns = now() - began_;
  if (what_ == What::kTurn) return state_.endTurn(*variant_, ns, std::uncaught_exceptions() == exceptions_);
  if (what_ == What::kMiss) state_.tookMiss(kind_, ns);
  state_.letPass(ns);
} catch (const std::exception&) {  // no memory for a text
}

CompiledFunction::Decision CompiledFunction::State::call(CallTimer& timer, const char* why) {
  if (why != nullptr) unusual.store(why, std::memory_order_relaxed);
  tally.eager.fetch_add(1, std::memory_order_relaxed);
  if (mayPass()) timer.start(CallTimer::What::kCall);
  return {};
}

SHUNT_NOINLINE CompiledFunction::Decision CompiledFunction::State::callInTrial(const Variant& variant,
                                                                               const CompileArguments& arguments,
                                                                               CallTimer& timer) {
  GraphTrial& trial = variant.trial;
  const uint64_t calls = uint64_t{1} + takePassed();
  if (trial.mode() == GraphTrial::Mode::kFunction && trial.passed(calls) && trial.claim()) {
    if (trial.mode() == GraphTrial::Mode::kFunction) {
      setInUse(variant, true);
      trial.open();
    }
    trial.release();
  }
  if (trial.mode() == GraphTrial::Mode::kOpen && trial.claim()) {
    if (trial.mode() == GraphTrial::Mode::kOpen) {
      const bool is_graphs = trial.isGraphsTurn();
      timer.startTurn(variant);  // which releases the trial in the end
      if (is_graphs) {
        find(arguments);  // as calls do that aren't timed
        return {Way::kRun, &variant};
      }
      tally.eager.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    trial.release();
  }
  if (trial.mode() != GraphTrial::Mode::kFunction)
    return {Way::kRun, &variant};  // another thread's turn, or it is over
  letPass(trial.functionNs());
  tally.eager.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void CompiledFunction::State::endTurn(const Variant& variant, int64_t ns, bool counts) {
  GraphTrial& trial = variant.trial;
  const bool is_over = counts && trial.took(ns, variant.runs->begun.load(std::memory_order_relaxed));
  const bool is_slower = is_over && trial.mode() == GraphTrial::Mode::kFunction;
  if (is_slower) setInUse(variant, false);
  trial.release();
  if (is_slower)
    log(LogLevel::kInfo, str(options.name, ": calls run the function, as ", trial.describe(),
                             ", for the graph recorded ", variant.guard->describe()));
}

/// Only who records holds the mutex, so that a child of fork() that finds it locked finds `recording` set as well, and
/// leaves it alone.
void CompiledFunction::State::tookMiss(const CompileKind& kind, int64_t ns) {
  if (recording.exchange(true, std::memory_order_acquire)) return;
  const RecordingTurn turn(recording);
  const int64_t passed = int64_t{takePassed()} * passing_ns.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex);
  seen.took(kind, ns + passed);
}

void CompiledFunction::State::letPass(int64_t ns) {
  int64_t many = mayPass() ? std::min(kTimeForOneLook / std::max<int64_t>(ns, 1), kMostPassing) : 0;
  if (many > 1) {
    const uint32_t next = drawn.load(std::memory_order_relaxed) * 747796405 + 2891336453;  // O'Neill, PCG
    drawn.store(next, std::memory_order_relaxed);
    many -= (next >> 16) % ((many + 1) / 2);
  }
  const auto passing = static_cast<uint32_t>(many);
  passing_last.store(passing, std::memory_order_relaxed);
  passing_ns.store(ns, std::memory_order_relaxed);
  if (passing == 0 && tally.passing.load(std::memory_order_relaxed) == 0) return;
  const uint32_t before = tally.passing.exchange(passing, std::memory_order_relaxed);
  tally.eager.fetch_add(passing - uint64_t{before}, std::memory_order_relaxed);
}

/// A variant that is retired meanwhile doesn't stay in use: retire() sets `retired` first.
void CompiledFunction::State::setInUse(const Variant& variant, bool is_in_use) {
  if (variant.is_in_use.exchange(is_in_use) != is_in_use) graphs_in_use.fetch_add(is_in_use ? 1 : -1);
  if (is_in_use && variant.retired.load()) setInUse(variant, false);
}

}  // namespace shunt::detail
