// Compiled functions: which way each call goes, and what is known of them.
//
// Which variant a call runs is found without a lock (Note [Variants], variants.h); what becomes of calls that have
// none, behind a mutex (Note [Kinds and sizes], calls_seen.h).
#include "src/compile/function_state.h"
#include "src/compile/recording_turn.h"

#include <shunt/core/log.h>

#include <algorithm>
#include <exception>

namespace shunt::detail {

using compiled::PassingKinds;
using compiled::Variant;
using compiled::Why;

namespace {

constexpr int kFailuresBeforeGivingUp = 3;

}  // namespace

CompiledFunction::CompiledFunction(CompileOptions options) {
  SHUNT_CHECK(options.max_variants >= 1, "compile: max_variants is ", options.max_variants, ": expected 1 or more");
  SHUNT_CHECK(options.max_sizes >= 1, "compile: max_sizes is ", options.max_sizes, ": expected 1 or more");
  for (const Tensor* t : options.captures) SHUNT_CHECK(t != nullptr, "compile: captures holds a null pointer");
  for (const double* s : options.scalars) SHUNT_CHECK(s != nullptr, "compile: scalars holds a null pointer");
  SHUNT_CHECK(options.record_after >= 1 || options.record_after == CompileOptions::kWhenItPays,
              "compile: record_after is ", options.record_after, ": expected 1 or more, or kWhenItPays");
  state_ = std::make_unique<State>(std::move(options));
  passing_ = &state_->tally.passing;
}

CompiledFunction::~CompiledFunction() = default;

CompiledFunction::State::~State() {
  try {
    for (const Variant* v : variants.all())  // what their regions have become
      if (!v->dumped.empty()) v->dump();
  } catch (const std::exception&) {  // no memory
  }
}

SHUNT_NOINLINE void CompiledFunction::State::retire(const Variant& variant, const char* why) {
  if (variant.retired.exchange(true)) return;
  setInUse(variant, false);
  closeIfRetired(variant);
  tally.invalidated.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex);
    seen.lost(variant.kind);
  }
  log(LogLevel::kInfo, str(options.name, ": a variant is out of use, since ", why, ": ", variant.guard->describe()));
}

Why CompiledFunction::State::whyNotRecorded(const CompileKind& kind, const CompileArguments& arguments) {
  const int64_t cost = recording_cost.expected();
  {
    const std::lock_guard lock(mutex);
    last_missed = kind;
    if (variants.areTooMany()) return Why::kTooManyVariants;
    if (const Why why = seen.whyHopeless(kind); why != Why::kNone) return why;
    const bool is_due = seen.isDue(kind, cost), is_new = seen.isNew(kind);
    if (is_new) new_arguments.note(arguments, options);
    if (!is_due) return seen.whyNotYet(kind);
  }
  if (!isTimed() || compiled::RecordingCost::isAllowed(cost)) return Why::kNone;
  const std::lock_guard lock(mutex);
  seen.postpone(kind);
  return Why::kNoBudget;
}

bool CompiledFunction::State::fits(const Variant& variant) {
  const bool is_again = variant.backward != nullptr && variant.backward->isRunAgainTooOften();
  if (variant.isCurrent() && !is_again) [[likely]]
    return true;
  if (is_again) compiles_backward.store(false, std::memory_order_relaxed);
  retire(variant, is_again ? "its graph has been run again for backward() too often"
                           : "an operator that it was recorded with is registered in another way now");
  return false;
}

CompiledFunction::Decision CompiledFunction::decide(const CompileArguments& arguments, CallTimer& timer) {
  State& s = *state_;
  const int64_t began = s.open_trials.load(std::memory_order_relaxed) > 0 ? State::now() : 0;
  if (!s.is_on.load(std::memory_order_relaxed))
    return s.call(timer, compiled::isSwitchedOn() ? Why::kFoundWrong : Why::kSwitchedOff);
  if (const Why why = compiled::whyNotOnThisThread(); why != Why::kNone) return s.call(timer, why);
  const auto fits = [&](const Variant& variant) { return s.fits(variant); };
  if (const Variant* variant = s.variants.findLast(arguments, fits)) {
    if (variant->trial.mode() == compiled::GraphTrial::Mode::kGraph) [[likely]]
      return {Way::kRun, variant};
    return s.callInTrial(*variant, arguments, began, timer);
  }
  const uint64_t sizes = compiled::hashOfSizes(arguments);
  const uint64_t hash = compiled::hashOfCall(arguments, sizes);
  if (s.passing_kinds.passes(hash)) return s.callWithoutLook(hash);
  if (const Variant* variant = s.variants.findElse(arguments, sizes, fits)) {
    if (variant->trial.mode() == compiled::GraphTrial::Mode::kGraph) return {Way::kRun, variant};
    return s.callInTrial(*variant, arguments, began, timer);
  }
  return s.decideWithoutVariant(arguments, sizes, hash, timer);
}

SHUNT_NOINLINE CompiledFunction::Decision CompiledFunction::State::decideWithoutVariant(
    const CompileArguments& arguments, uint64_t sizes, uint64_t hash, CallTimer& timer) {
  const uint64_t recorded = tally.recorded.load(std::memory_order_acquire);
  for (const Tensor* t : arguments.tensors)
    if (const Why why = compiled::whyNotWith(*t, links_history.load(std::memory_order_relaxed)); why != Why::kNone)
      return call(timer, why);
  if (given_up.load(std::memory_order_relaxed)) {
    letPass(hash, PassingKinds::kMost, Why::kGivenUp);
    return call(timer, Why::kGivenUp);
  }
  if (recording.exchange(true, std::memory_order_acquire)) return call(timer, Why::kRecordedElsewhere);
  RecordingTurn turn(recording);
  // Another thread may have made it meanwhile.
  const bool is_more = tally.recorded.load(std::memory_order_acquire) != recorded;
  const auto fitsNow = [&](const Variant& variant) { return fits(variant); };
  if (const Variant* variant = is_more ? variants.findElse(arguments, sizes, fitsNow) : nullptr)
    return {Way::kRun, variant};
  const CompileKind kind = kindOf(arguments);
  const Why why = whyNotRecorded(kind, arguments);
  if (why == Why::kNone) {
    turn.leaveSet();  // until the attempt has ended
    return {Way::kRecord, nullptr};
  }
  const bool may_be_later =
      why == Why::kNew || why == Why::kTooSeldom || why == Why::kFailedBefore || why == Why::kNoBudget;
  if (!may_be_later) {
    letPass(hash, PassingKinds::kMost, why);
  } else if (isTimed()) {
    timed_why.store(why, std::memory_order_relaxed);
    timer.startMiss(kind);
  }
  return call(why);
}

const CompiledFunction::Variant* CompiledFunction::State::add(std::unique_ptr<Variant> variant) {
  if (!variant->dumped.empty()) variant->dump();
  const std::lock_guard lock(mutex);
  failures = 0;
  variant->runs = &tally.addGraph();
  if (isTimed() && options.check != CompileCheck::kAlways) variant->trial.begin(variant->backward != nullptr);
  setInUse(*variant, true);
  const Variant* made = variants.add(std::move(variant));
  seen.made(made->kind);
  if (last_missed && last_missed->kind == made->kind.kind && last_missed->sizes == made->kind.sizes)
    last_missed.reset();
  tally.recorded.fetch_add(1, std::memory_order_release);
  return made;
}

void CompiledFunction::State::noteAttempt(const CompileKind& kind, const std::string& why, bool threw) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex);
    refusal = why;
    if (std::exchange(was_raced, false) || threw || seen.wasTriedBefore(kind)) return;
    is_first = ++failures == 1;
    if (failures >= kFailuresBeforeGivingUp) given_up.store(true, std::memory_order_relaxed);
  }
  // Outside of the mutex: a sink may be a program's, and wait for a thread that waits for the mutex.
  if (is_first) log(LogLevel::kWarning, str(options.name, " runs without a graph: ", why));
}

const void* CompiledFunction::result(const Variant& variant) { return variant.result.get(); }

}  // namespace shunt::detail
