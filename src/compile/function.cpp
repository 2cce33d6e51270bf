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

using compiled::Variant;

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
  tally.invalidated.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex);
    seen.lost(variant.kind);
  }
  log(LogLevel::kInfo, str(options.name, ": a variant is out of use, since ", why, ": ", variant.guard->describe()));
}

bool CompiledFunction::State::isWorthRecording(const CompileKind& kind) {
  const int64_t cost = recording_cost.expected();
  {
    const std::lock_guard lock(mutex);
    if (variants.areTooMany() || !seen.isDue(kind, cost)) return false;
  }
  if (!isTimed() || compiled::RecordingCost::isAllowed(cost)) return true;
  const std::lock_guard lock(mutex);
  seen.postpone(kind);
  return false;
}

const Variant* CompiledFunction::State::find(const CompileArguments& arguments) {
  return variants.find(arguments, [&](const Variant& variant) {
    const bool is_again = variant.backward != nullptr && variant.backward->isRunAgainTooOften();
    if (variant.isCurrent() && !is_again) [[likely]]
      return true;
    if (is_again) compiles_backward.store(false, std::memory_order_relaxed);
    retire(variant, is_again ? "its graph has been run again for backward() too often"
                             : "an operator that it was recorded with is registered in another way now");
    return false;
  });
}

CompiledFunction::Decision CompiledFunction::decide(const CompileArguments& arguments, CallTimer& timer) {
  State& s = *state_;
  if (!s.is_on.load(std::memory_order_relaxed)) return s.call(timer);
  if (const char* why = compiled::whyNotOnThisThread()) return s.call(timer, why);
  if (const Variant* variant = s.find(arguments)) {
    if (variant->trial.mode() == compiled::GraphTrial::Mode::kGraph) [[likely]]
      return {Way::kRun, variant};
    return s.callInTrial(*variant, arguments, timer);
  }
  const uint64_t recorded = s.tally.recorded.load(std::memory_order_acquire);
  for (const Tensor* t : arguments.tensors)
    if (const char* why = compiled::whyNotWith(*t, s.links_history.load(std::memory_order_relaxed)))
      return s.call(timer, why);
  if (s.given_up.load(std::memory_order_relaxed)) return s.call(timer);
  if (s.recording.exchange(true, std::memory_order_acquire)) return s.call(timer);
  RecordingTurn turn(s.recording);
  // Another thread may have made it meanwhile.
  const bool is_more = s.tally.recorded.load(std::memory_order_acquire) != recorded;
  const Variant* variant = is_more ? s.find(arguments) : nullptr;
  if (variant != nullptr) return {Way::kRun, variant};
  const CompileKind kind = s.kindOf(arguments);
  if (s.isWorthRecording(kind)) {
    turn.leaveSet();  // until the attempt has ended
    return {Way::kRecord, nullptr};
  }
  s.tally.eager.fetch_add(1, std::memory_order_relaxed);
  if (s.isTimed()) timer.startMiss(kind);
  return {};
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
  tally.recorded.fetch_add(1, std::memory_order_release);
  return made;
}

void CompiledFunction::State::noteAttempt(const CompileKind& kind, const std::string& why, bool threw) {
  const std::lock_guard lock(mutex);
  refusal = why;
  if (std::exchange(was_raced, false) || threw || seen.wasTriedBefore(kind)) return;
  if (++failures == 1) log(LogLevel::kWarning, str(options.name, " runs without a graph: ", why));
  if (failures >= kFailuresBeforeGivingUp) given_up.store(true, std::memory_order_relaxed);
}

const void* CompiledFunction::result(const Variant& variant) { return variant.result.get(); }

}  // namespace shunt::detail
