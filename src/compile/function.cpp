// Compiled functions: which way each call goes, and what is known of them.
//
// Which variant a call runs is found without a lock (Note [Variants], variants.h); what becomes of calls that have
// none, behind a mutex (Note [Kinds and sizes], calls_seen.h).
#include "src/compile/calls_seen.h"
#include "src/compile/check.h"
#include "src/compile/checks/switches.h"
#include "src/compile/variants.h"
#include "src/tiering/function_tally.h"

#include <shunt/core/log.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <set>

namespace shunt::detail {

using compiled::switches;
using compiled::Variant;

namespace {

constexpr int kFailuresBeforeGivingUp = 3;

}  // namespace

struct CompiledFunction::State {
  explicit State(CompileOptions given)
      : options(std::move(given)), tally(options.name), seen(options.max_variants, options.max_sizes) {}

  const CompileOptions options;
  jit::FunctionTally tally;
  compiled::Variants variants;
  std::atomic<bool> recording{false}, given_up{false};
  std::atomic<bool> compiles_backward{true};  // until a graph had better kept its history
  std::atomic<bool> links_history{true};      // until a graph was found that can't, for arguments from other graphs
  std::atomic<const char*> unusual{nullptr};  // why the last call whose thread or tensors no graph can serve was one
  std::mutex mutex;
  // Behind the mutex.
  compiled::CallsSeen seen;
  std::string refusal;
  int failures = 0;

  SHUNT_NOINLINE void retire(const Variant& variant, const char* why) {
    if (variant.retired.exchange(true)) return;
    tally.invalidated.fetch_add(1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      seen.lost(variant.kind);
    }
    log(LogLevel::kInfo, str(options.name, ": a variant is out of use, since ", why, ": ", variant.guard->describe()));
  }
  Decision call(const char* why = nullptr) {
    if (why != nullptr) unusual.store(why, std::memory_order_relaxed);
    tally.eager.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  Decision run(const Variant* variant) {
    tally.hits.fetch_add(1, std::memory_order_relaxed);
    return {Way::kRun, variant};
  }
  /// The variant for these arguments; null where there is none.
  const Variant* find(const CompileArguments& arguments);
  bool isWorthRecording(const CompileArguments& arguments);
  const Variant* add(std::unique_ptr<Variant> variant, const CompileArguments& arguments);
  /// What an attempt to record has come to, where that is no variant; `threw`: the function itself did, too.
  void noteAttempt(const CompileKind& kind, const std::string& why, bool threw);
  CompileKind kindOf(const CompileArguments& arguments) const { return compiled::kindOfCall(arguments, options); }
  std::string explainVariants() const;
  std::string explainBounds() const;
};

namespace {

/// The flag `recording`, set by this thread: cleared in the end, unless somebody else is to do that.
class RecordingTurn {
 public:
  explicit RecordingTurn(std::atomic<bool>& flag) : flag_(&flag) {}
  ~RecordingTurn() {
    if (flag_ != nullptr) flag_->store(false, std::memory_order_release);
  }
  RecordingTurn(const RecordingTurn&) = delete;
  RecordingTurn& operator=(const RecordingTurn&) = delete;
  void leaveSet() { flag_ = nullptr; }

 private:
  std::atomic<bool>* flag_;
};

/// Adds its lifetime to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<uint64_t>& ns) : ns_(ns) {}
  ~Stopwatch() {
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began_).count();
    ns_.fetch_add(static_cast<uint64_t>(took), std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<uint64_t>& ns_;
  const Clock::time_point began_ = Clock::now();
};

}  // namespace

CompiledFunction::CompiledFunction(CompileOptions options) {
  SHUNT_CHECK(options.max_variants >= 1, "compile: max_variants is ", options.max_variants, ": expected 1 or more");
  SHUNT_CHECK(options.max_sizes >= 1, "compile: max_sizes is ", options.max_sizes, ": expected 1 or more");
  for (const Tensor* t : options.captures) SHUNT_CHECK(t != nullptr, "compile: captures holds a null pointer");
  for (const double* s : options.scalars) SHUNT_CHECK(s != nullptr, "compile: scalars holds a null pointer");
  state_ = std::make_unique<State>(std::move(options));
}

CompiledFunction::~CompiledFunction() = default;

bool CompiledFunction::State::isWorthRecording(const CompileArguments& arguments) {
  if (given_up.load(std::memory_order_relaxed)) return false;
  const CompileKind kind = kindOf(arguments);
  const std::lock_guard lock(mutex);
  return !variants.areTooMany() && seen.isDue(kind);
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

CompiledFunction::Decision CompiledFunction::decide(const CompileArguments& arguments) {
  State& s = *state_;
  if (!switches().on) return s.call();
  if (const char* why = compiled::whyNotOnThisThread()) return s.call(why);
  if (const Variant* variant = s.find(arguments)) return s.run(variant);
  const uint64_t recorded = s.tally.recorded.load(std::memory_order_acquire);
  for (const Tensor* t : arguments.tensors)
    if (const char* why = compiled::whyNotWith(*t, s.links_history.load(std::memory_order_relaxed))) return s.call(why);
  if (s.recording.exchange(true, std::memory_order_acquire)) return s.call();
  RecordingTurn turn(s.recording);
  // Another thread may have made it meanwhile.
  const bool is_more = s.tally.recorded.load(std::memory_order_acquire) != recorded;
  const Variant* variant = is_more ? s.find(arguments) : nullptr;
  if (variant == nullptr && s.isWorthRecording(arguments)) {
    turn.leaveSet();  // until record() ends
    return {Way::kRecord, nullptr};
  }
  return variant != nullptr ? s.run(variant) : s.call();
}

const CompiledFunction::Variant* CompiledFunction::State::add(std::unique_ptr<Variant> variant,
                                                              const CompileArguments& arguments) {
  variant->kind = kindOf(arguments);
  const std::lock_guard lock(mutex);
  failures = 0;
  const Variant* made = variants.add(std::move(variant), arguments);
  seen.made(made->kind);
  tally.recorded.fetch_add(1, std::memory_order_release);
  tally.hits.fetch_add(1, std::memory_order_relaxed);
  return made;
}

const CompiledFunction::Variant* CompiledFunction::record(
    const CompileArguments& arguments,
    FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record, std::string& why) {
  State& s = *state_;
  const RecordingTurn turn(s.recording);
  const Stopwatch watch(s.tally.record_ns);
  try {
    return s.add(
        compiled::recordVariant(arguments, s.options, record, s.compiles_backward.load(std::memory_order_relaxed)),
        arguments);
  } catch (const compiled::KeepsTensors& e) {
    why = e.what();
    s.given_up.store(true, std::memory_order_relaxed);
  } catch (const compiled::KeepsHistory& e) {
    why = e.what();
    s.links_history.store(false, std::memory_order_relaxed);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "it throws what is no std::exception";
  }
  s.call();
  return nullptr;
}

CompiledFunction::NotRecorded::NotRecorded(CompiledFunction& function, const CompileArguments& arguments,
                                           std::string why)
    : state_(*function.state_),
      kind_(state_.kindOf(arguments)),
      why_(std::move(why)),
      exceptions_(std::uncaught_exceptions()) {}

CompiledFunction::NotRecorded::~NotRecorded() {
  try {
    state_.noteAttempt(kind_, why_, std::uncaught_exceptions() > exceptions_);
  } catch (...) {  // no memory: so nothing is noted
  }
}

void CompiledFunction::State::noteAttempt(const CompileKind& kind, const std::string& why, bool threw) {
  const std::lock_guard lock(mutex);
  refusal = why;
  if (threw || seen.wasTriedBefore(kind)) return;
  if (++failures == 1) log(LogLevel::kWarning, str(options.name, " runs without a graph: ", why));
  if (failures >= kFailuresBeforeGivingUp) given_up.store(true, std::memory_order_relaxed);
}

CompileOutputs CompiledFunction::run(const Variant& variant, const CompileArguments& arguments,
                                     FunctionRef<CompileOutputs()> function) {
  if (switches().check) [[unlikely]]
    return compiled::runChecked(state_->options.name, variant, arguments, function);
  if (variant.has_effects) return variant.run(arguments);
  try {
    return variant.run(arguments);
  } catch (const std::exception&) {
  }
  return function();  // throws what the graph has, with what it does besides
}

const void* CompiledFunction::result(const Variant& variant) { return variant.result.get(); }

CompileCounts CompiledFunction::counts() const {
  const jit::CompiledStats s = state_->tally.stats();
  return {s.graph_calls, s.function_calls, s.recorded, s.invalidated, s.variants, s.record_ms};
}

const Graph* CompiledFunction::graph() const {
  const Variant* last = state_->variants.last();
  return last != nullptr ? &last->graph : nullptr;
}

std::string CompiledFunction::plan() const {
  const Variant* last = state_->variants.last();
  return last != nullptr ? last->describe() : "";
}

namespace {

/// What differs among the variants of one kind: sizes, but for what is captured, and which are out of use.
std::string explainOthers(std::span<const Variant* const> others) {
  constexpr size_t kShown = 16;
  std::string text = str("  and ", others.size(), " more like it, for");
  for (const Variant* v : others.first(std::min(others.size(), kShown)))
    text += str(' ', v->guard->describeSizes(), v->retired ? " (out of use)" : "", ';');
  text.back() = '\n';
  if (others.size() > kShown) text.insert(text.size() - 1, str(" and ", others.size() - kShown, " more"));
  return text;
}

}  // namespace

std::string CompiledFunction::State::explainVariants() const {
  std::string text;
  std::vector<const Variant*> left = variants.all();
  for (size_t number = 0; !left.empty(); ++number) {
    const Variant& first = *left[0];
    std::vector<const Variant*> others, of_other_kinds;
    for (const Variant* v : std::span(left).subspan(1))
      (v->kind.kind == first.kind.kind ? others : of_other_kinds).push_back(v);
    text += str("variant ", number, first.retired ? " (out of use) " : " ", first.guard->describe(), ": ",
                first.graph.nodes().size(), " operators\n");
    if (!others.empty()) text += explainOthers(others);
    std::set<std::string> reasons = {first.why_no_backward};
    for (const Variant* v : others) reasons.insert(v->why_no_backward);
    for (const std::string& why : reasons)
      if (!why.empty()) text += str("  its backward pass is not compiled: ", why, '\n');
    left = std::move(of_other_kinds);
  }
  return text;
}

std::string CompiledFunction::State::explainBounds() const {
  std::string text;
  if (variants.areTooMany())
    return str(variants.all().size(),
               " variants were made, most of which registrations have put out of use; no more are made\n");
  if (seen.hasAllKinds()) text += str("no more variants than of ", options.max_variants, " kinds are made\n");
  if (seen.hasAllSizesOfAKind()) text += str("no more sizes of one kind than ", options.max_sizes, " are recorded\n");
  return text;
}

std::string CompiledFunction::explain() const {
  State& s = *state_;
  std::string text =
      str(s.options.name, ": ", s.tally.hits.load(), " calls ran a graph, ", s.tally.eager.load(), " the function\n");
  if (!switches().on) text += "SHUNT_COMPILE=0\n";
  const std::lock_guard lock(s.mutex);
  text += s.explainVariants();
  if (!s.refusal.empty()) text += str(s.given_up ? "not recorded any more: " : "not recorded: ", s.refusal, '\n');
  if (const char* why = s.unusual.load(std::memory_order_relaxed)) text += str("ran the function because ", why, '\n');
  return text + s.explainBounds();
}

}  // namespace shunt::detail
