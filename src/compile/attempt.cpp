// Attempts to record a compiled function: what becomes of each, and of the call that it was made for.
//
// Note [Errors that the function catches]
// A recording may throw where the function doesn't: at item(), or at what else has no answer without elements. If the
// function catches that, it goes another way than it does when it computes, and nothing of that shows in the graph. So
// errors are heard while it is recorded. Where there were some and it returned all the same, this call runs the
// function itself, and the variant counts only if that throws the same errors, in the same order.
#include "src/base/errors_heard.h"
#include "src/compile/function_state.h"
#include "src/compile/recording_turn.h"

#include <shunt/compile/try_again.h>
#include <shunt/core/interrupt.h>

#include <exception>
#include <optional>
#include <utility>

#include <time.h>

namespace shunt::detail {
namespace {

/// Measures the thread's CPU time during its life, and says it at its end.
template <class Tell>
class Stopwatch {
 public:
  explicit Stopwatch(Tell tell) : tell_(std::move(tell)) {}
  ~Stopwatch() { tell_(now() - began_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  static int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
  }
  const Tell tell_;
  const int64_t began_ = now();
};

}  // namespace

CompiledFunction::Attempt::Attempt(CompiledFunction& function, const CompileArguments& arguments)
    : state_(*function.state_),
      arguments_(arguments),
      kind_(state_.kindOf(arguments)),
      exceptions_(std::uncaught_exceptions()) {}

std::unique_ptr<CompiledFunction::Variant> CompiledFunction::Attempt::make(
    FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record) {
  const Stopwatch watch([&](int64_t ns) {
    state_.tally.record_ns.fetch_add(static_cast<uint64_t>(ns), std::memory_order_relaxed);
    state_.recording_cost.took(ns, state_.isTimed());
  });
  try {
    const ErrorsHeard heard;  // not by a recording around the call
    const char* const why_no_backward = state_.why_no_backward.load(std::memory_order_relaxed);
    auto variant = compiled::recordVariant(arguments_, state_.options, record, why_no_backward);
    variant->kind = kind_;
    variant->hash_of_sizes = compiled::hashOfSizes(arguments_);
    return variant;
  } catch (const Interrupt&) {
    throw;
  } catch (const compiled::KeepsTensors& e) {
    why_not_ = e.what();
    state_.given_up.store(true, std::memory_order_relaxed);
  } catch (const compiled::KeepsHistory& e) {
    why_not_ = e.what();
    state_.links_history.store(false, std::memory_order_relaxed);
  } catch (const compiled::RegisteredMeanwhile& e) {
    why_not_ = e.what();
    const std::lock_guard lock(state_.mutex);
    state_.was_raced = true;
  } catch (const TryAgain& e) {
    why_not_ = e.what();
    const std::lock_guard lock(state_.mutex);
    state_.was_raced = true;
  } catch (const std::exception& e) {
    why_not_ = e.what();
  } catch (...) {
    why_not_ = "it throws what is no std::exception";
  }
  return nullptr;
}

const CompiledFunction::Variant* CompiledFunction::Attempt::record(
    FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record) {
  RecordingTurn turn(state_.recording);
  std::unique_ptr<Variant> variant = make(record);
  if (variant != nullptr && variant->errors.empty()) {
    is_over_ = true;
    // This call makes run 1, and the function's code has run in it. To check that run would execute the code again: a
    // counter in it would be one ahead for good, and right results would look wrong.
    if (state_.options.check == CompileCheck::kFirst && variant->schedule.isOn()) variant->schedule.begin(2);
    return state_.add(std::move(variant));
  }
  if (variant != nullptr) {
    why_not_ = str("compile: the function catches errors, and gets others when it is recorded: ", variant->errors[0]);
    heard_ = std::make_unique<ErrorsHeard>();
    unconfirmed_ = std::move(variant);
    turn.leaveSet();  // until the function has returned
  }
  state_.call(unconfirmed_ != nullptr ? compiled::Why::kConfirming : compiled::Why::kFailed);
  return nullptr;
}

CompiledFunction::Attempt::~Attempt() {
  if (is_over_) return;
  const bool threw = std::uncaught_exceptions() > exceptions_;
  std::optional<RecordingTurn> turn;
  if (unconfirmed_ != nullptr) turn.emplace(state_.recording);
  try {
    if (unconfirmed_ != nullptr && !threw && !heard_->lostAny() && heard_->messages() == unconfirmed_->errors)
      state_.add(std::move(unconfirmed_));
    else
      state_.noteAttempt(kind_, why_not_, threw);
  } catch (...) {  // no memory: so nothing is noted
  }
}

}  // namespace shunt::detail
