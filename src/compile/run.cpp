// Runs of a compiled function's graphs: plain ones, and those that are checked (Note [Checked runs],
// checked_run.h).
//
// Note [Checks among several threads]
// Another run of a graph that writes may write what a check compares. So runs of such graphs count when they end, too,
// and a check is put off to the next run where another one is under way, or where it finds a difference and another one
// has begun meanwhile. So it is where another thread has drawn from the same generator.
#include "src/base/errors_heard.h"
#include "src/compile/check.h"
#include "src/compile/checked_run.h"
#include "src/compile/function_state.h"

#include <shunt/core/interrupt.h>
#include <shunt/core/log.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace shunt::detail {

using compiled::Variant;

namespace {

/// Whether runs of the variant are counted at their ends.
bool countsEnds(const Variant& variant) { return variant.has_effects && variant.schedule.isOn(); }

class Ending {
 public:
  explicit Ending(const Variant& variant) : runs_(countsEnds(variant) ? variant.runs : nullptr) {}
  ~Ending() {
    if (runs_ != nullptr) runs_->ended.fetch_add(1, std::memory_order_release);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  jit::GraphRuns* const runs_;
};

/// Of a variant's checks, or of its trial.
template <class Claimed>
class Claim {
 public:
  explicit Claim(Claimed& claimed) : claimed_(claimed), is_mine_(claimed.claim()) {}
  ~Claim() {
    if (is_mine_) claimed_.release();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool isMine() const { return is_mine_; }

 private:
  Claimed& claimed_;
  const bool is_mine_;
};

SHUNT_ALWAYS_INLINE CompiledFunction::Ran runGraph(const Variant& variant, const CompileArguments& arguments,
                                                   FunctionRef<CompileOutputs()> function) {
  if (variant.has_effects) {
    const Ending ending(variant);
    return {variant.run(arguments)};
  }
  try {
    const ErrorsHeard aside;  // the function throws it again
    return {variant.run(arguments)};
  } catch (const Interrupt&) {
    throw;
  } catch (const std::exception&) {
  }
  return {function(), true};  // throws what the graph has, with what it does besides
}

}  // namespace

CompiledFunction::Ran CompiledFunction::run(const Variant& variant, const CompileArguments& arguments,
                                            FunctionRef<CompileOutputs()> function) {
  const uint64_t run = variant.runs->begun.fetch_add(1, std::memory_order_relaxed) + 1;
  if (variant.schedule.isDue(run)) [[unlikely]]
    return state_->runAndCheck(variant, arguments, function, run);
  if (variant.trial.isDue(run)) [[unlikely]]
    state_->openTrial(variant, run);
  return runGraph(variant, arguments, function);
}

SHUNT_NOINLINE CompiledFunction::Ran CompiledFunction::State::runAndCheck(const Variant& variant,
                                                                          const CompileArguments& arguments,
                                                                          FunctionRef<CompileOutputs()> function,
                                                                          uint64_t run) {
  using Clock = std::chrono::steady_clock;
  if (options.check == CompileCheck::kAlways)
    return {compiled::runChecked(options.name, variant, arguments, function), variant.backward == nullptr};
  const Claim claim(variant.schedule);
  const uint64_t ended = variant.runs->ended.load(std::memory_order_acquire);
  const uint64_t begun = variant.runs->begun.load(std::memory_order_relaxed);
  const bool in_trial = variant.trial.mode() == compiled::GraphTrial::Mode::kOpen;
  if (!claim.isMine() || in_trial || !variant.schedule.isDue(run) || (countsEnds(variant) && begun - ended != 1))
    return runGraph(variant, arguments, function);
  const Ending ending(variant);
  const Clock::time_point start = Clock::now();
  compiled::CheckedRun check(variant, arguments, run);
  const auto conclude = [&] {
    const auto ns = std::chrono::nanoseconds(Clock::now() - start).count();
    this->conclude(variant, check, run, begun, static_cast<uint64_t>(ns));
  };
  try {
    CompileOutputs outputs = check.run(function);
    conclude();
    return {std::move(outputs), true};
  } catch (...) {
    conclude();
    throw;
  }
}

SHUNT_NOINLINE void CompiledFunction::State::openTrial(const Variant& variant, uint64_t run) {
  const Claim check(variant.schedule);
  if (!check.isMine()) return;  // so the next run may
  const Claim trial(variant.trial);
  if (!trial.isMine() || !variant.trial.isDue(run)) return;
  open_trials.fetch_add(1);
  variant.trial.open();
}

void CompiledFunction::State::conclude(const Variant& variant, const compiled::CheckedRun& check, uint64_t run,
                                       uint64_t begun, uint64_t ns) {
  if (!check.wasCompared()) return variant.schedule.notCompared(run);
  if (check.difference().empty()) {
    if (const auto times = check.backwardNs()) variant.trial.tookBackward(times->graph, times->function);
    return variant.schedule.passed(run, ns - std::min(ns, check.graphNs()), check.graphNs());
  }
  const bool met_others = countsEnds(variant) && variant.runs->begun.load(std::memory_order_acquire) != begun;
  if (!met_others && !check.metOthers()) drop(variant, run, check.difference());
}

SHUNT_COLD void CompiledFunction::State::drop(const Variant& variant, uint64_t run, const std::string& difference) try {
  if (!is_on.exchange(false)) return;  // another thread has
  const uint64_t right = variant.schedule.lastRight();
  const std::string why =
      str("run ", run, " of a graph was checked, and the graph and the function differ in ", difference, ". ",
          right == 0 ? "No run before it was compared"
                     : str("Run ", right, ", the last one compared before it, showed no difference"));
  {
    const std::lock_guard lock(mutex);
    refusal = why;
    given_up.store(true, std::memory_order_relaxed);
  }
  for (const Variant* v : variantsNow()) retire(*v, "a check has found that the function's graphs are wrong");
  const char* between = right > 0 && run > right + 1 ? "; the results of the runs in between may be wrong" : "";
  log(LogLevel::kWarning,
      str(options.name, ": ", why, between,
          ". A graph keeps what the function read when it was recorded, except its arguments: numbers, the tensors in "
          "variables, branches on these; and it only calls operators. This call has the result of the function, and "
          "all later calls run it. To have a graph, pass what changes as an argument, keep it in a 0-dim tensor, or "
          "name it in CompileOptions::captures or ::scalars"));
} catch (const std::exception&) {  // no memory for the texts
}

}  // namespace shunt::detail
