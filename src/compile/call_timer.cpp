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
using compiled::PassingKinds;
using compiled::Why;

namespace {

// A look takes some 200 ns, and is to take a hundredth of the time of the calls that it lets pass by.
constexpr int64_t kTimeForOneLook = 200 * 100;
constexpr int64_t kMostPassing = 63;

}  // namespace

int64_t CompiledFunction::State::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void CompiledFunction::CallTimer::start(What what) {
  what_ = what;
  exceptions_ = std::uncaught_exceptions();
  began_ = State::now();
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
  const int64_t ns = State::now() - began_;
  if (what_ == What::kTurn) return state_.endTurn(*variant_, ns, std::uncaught_exceptions() == exceptions_);
  if (what_ == What::kMiss) state_.tookMiss(kind_, ns);
  const Why why = state_.timed_why.load(std::memory_order_relaxed);
  state_.letPass(ns, why == Why::kNew ? Why::kTooSeldom : why);  // nobody looks whether those have such arguments
} catch (const std::exception&) {                                // no memory for a text
}

CompiledFunction::Decision CompiledFunction::State::call(CallTimer& timer, Why why) {
  if (mayPass()) {
    timed_why.store(why, std::memory_order_relaxed);
    timer.start(CallTimer::What::kCall);
  }
  return call(why);
}

SHUNT_NOINLINE CompiledFunction::Decision CompiledFunction::State::callInTrial(const Variant& variant,
                                                                               const CompileArguments& arguments,
                                                                               int64_t began, CallTimer& timer) {
  GraphTrial& trial = variant.trial;
  const uint64_t calls = uint64_t{1} + takePassed();
  if (trial.mode() == GraphTrial::Mode::kFunction && trial.passed(calls) && trial.claim()) {
    if (trial.mode() == GraphTrial::Mode::kFunction) {
      setInUse(variant, true);
      open_trials.fetch_add(1);
      trial.open();
    }
    trial.release();
    closeIfRetired(variant);
  }
  if (trial.mode() == GraphTrial::Mode::kOpen && trial.claim()) {
    if (trial.mode() == GraphTrial::Mode::kOpen) {
      const bool is_graphs = trial.isGraphsTurn();
      timer.startTurn(variant);  // which releases the trial in the end
      if (!is_graphs) return call(Why::kTrial);
      // With what it has taken to find the variant. Unknown in the first call of a trial, which warms up.
      if (began != 0) timer.began_ = began;
      return {Way::kRun, &variant};
    }
    trial.release();
  }
  if (trial.mode() != GraphTrial::Mode::kFunction)
    return {Way::kRun, &variant};  // another thread's turn, or it is over
  const int64_t ns = std::max<int64_t>(trial.functionNs(), 1);
  if (mayPass()) {
    letPass(ns, Why::kSlower);
  } else if (const int64_t many = kTimeForOneLook / ns; many > 0) {
    // Found only when another one has run since, so hardly ever more often than what passes.
    const auto most = std::min<uint64_t>(static_cast<uint64_t>(many), PassingKinds::kMost);
    trial.passed(most);
    letPass(compiled::hashOfCall(arguments, variant.hash_of_sizes), most, Why::kSlower);
  }
  return call(Why::kSlower);
}

void CompiledFunction::State::endTurn(const Variant& variant, int64_t ns, bool counts) {
  GraphTrial& trial = variant.trial;
  const bool is_over = counts && trial.took(ns, variant.runs->begun.load(std::memory_order_relaxed));
  const bool is_slower = is_over && trial.mode() == GraphTrial::Mode::kFunction;
  if (is_over) open_trials.fetch_sub(1);
  if (is_slower) setInUse(variant, false);
  trial.release();
  closeIfRetired(variant);
  if (is_slower)
    log(LogLevel::kInfo, str(options.name, ": calls run the function, as ", trial.describe(),
                             ", for the graph recorded ", variant.guard->describe()));
}

/// By who retires it, and by who has had the trial then: one of them finds it open and free.
void CompiledFunction::State::closeIfRetired(const Variant& variant) {
  if (!variant.retired.load() || !variant.trial.claim()) return;
  if (variant.trial.mode() == GraphTrial::Mode::kOpen) {
    variant.trial.close();
    open_trials.fetch_sub(1);
  }
  variant.trial.release();
}

CompiledFunction::Decision CompiledFunction::State::callWithoutLook(uint64_t hash) {
  constexpr uint32_t kAgain = 8, kInARow = 256;  // when it is asked, and how long a row has to be
  // Not added by one instruction, which would take as long as all the rest.
  tally.eager.store(tally.eager.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const uint32_t in_a_row = passed_in_a_row.load(std::memory_order_relaxed) + 1;
  passed_in_a_row.store(in_a_row, std::memory_order_relaxed);
  if (in_a_row % kAgain != 0) return {};
  const uint64_t hits = tally.hits();
  if (hits != hits_before.exchange(hits, std::memory_order_relaxed))
    passed_in_a_row.store(0, std::memory_order_relaxed);
  else if (in_a_row >= kInARow)
    letAllPass(drawUpTo(std::min<uint64_t>(in_a_row / kAgain, kMostPassing)), passing_kinds.whyOf(hash));
  return {};
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

uint64_t CompiledFunction::State::drawUpTo(uint64_t most) {
  if (most < 2) return most;
  const uint32_t next = drawn.load(std::memory_order_relaxed) * 747796405 + 2891336453;  // O'Neill, PCG
  drawn.store(next, std::memory_order_relaxed);
  return most - (next >> 16) % ((most + 1) / 2);
}

void CompiledFunction::State::letPass(uint64_t hash, uint64_t most, Why why) {
  if (isTimed()) passing_kinds.let(hash, drawUpTo(most), why, whys);
}

void CompiledFunction::State::letPass(int64_t ns, Why why) {
  const int64_t many = mayPass() ? std::min(kTimeForOneLook / std::max<int64_t>(ns, 1), kMostPassing) : 0;
  const uint64_t passing = drawUpTo(static_cast<uint64_t>(many));
  passing_last.store(static_cast<uint32_t>(passing), std::memory_order_relaxed);
  passing_ns.store(ns, std::memory_order_relaxed);
  letAllPass(passing, why);
}

void CompiledFunction::State::letAllPass(uint64_t many, Why why) {
  const auto passing = static_cast<uint32_t>(many);
  if (passing == 0 && tally.passing.load(std::memory_order_relaxed) == 0) return;
  const uint32_t before = tally.passing.exchange(passing, std::memory_order_relaxed);
  tally.eager.fetch_add(passing - uint64_t{before}, std::memory_order_relaxed);
  whys.takeBack(passing_why.exchange(why, std::memory_order_relaxed), before);
  whys.add(why, passing);
}

/// A variant that is retired meanwhile doesn't stay in use: retire() sets `retired` first.
void CompiledFunction::State::setInUse(const Variant& variant, bool is_in_use) {
  if (variant.is_in_use.exchange(is_in_use) != is_in_use) graphs_in_use.fetch_add(is_in_use ? 1 : -1);
  if (is_in_use && variant.retired.load()) setInUse(variant, false);
}

}  // namespace shunt::detail
