// What a compiled function tells of itself.
#include "src/base/counted.h"
#include "src/compile/function_state.h"

#include <algorithm>
#include <set>
#include <span>

namespace shunt::detail {

using compiled::Variant;
using compiled::Why;

CompileCounts CompiledFunction::counts() const {
  const jit::CompiledStats s = state_->tally.stats();
  return {s.graph_calls, s.function_calls, s.recorded, s.invalidated, s.variants, s.record_ms};
}

const Graph* CompiledFunction::graph() const {
  const Variant* last = state_->variants.last();
  return last != nullptr ? &last->graph : nullptr;
}

std::vector<PlanDescription> CompiledFunction::plans() const {
  const Variant* last = state_->variants.last();
  return last != nullptr ? last->plans() : std::vector<PlanDescription>();
}

namespace {

/// The first of the guards that were described with the same text, which is added; null: none.
class Described {
 public:
  struct Variant {
    const compiled::Guard* guard;
    size_t number;
    std::string text;
  };
  const Variant* add(const compiled::Guard& guard, size_t number, const std::string& text) {
    const auto at = std::ranges::find(variants_, text, &Variant::text);
    if (at != variants_.end()) return &*at;
    variants_.push_back({&guard, number, text});
    return nullptr;
  }

 private:
  std::vector<Variant> variants_;
};

/// What differs among the variants of one kind: sizes, or what is captured; and which are out of use.
std::string explainOthers(const Variant& first, std::span<const Variant* const> others) {
  constexpr size_t kShown = 16;
  std::string text = str("  and ", others.size(), " more like it, for");
  Described described;
  described.add(*first.guard, 0, first.guard->describeSizes());
  for (const Variant* v : others.first(std::min(others.size(), kShown))) {
    const std::string sizes = v->guard->describeSizes();
    text += ' ' + sizes;
    if (const auto* like = described.add(*v->guard, 0, sizes))
      if (const std::string found = v->guard->differenceFrom(*like->guard); !found.empty())
        text += str(" (differs in ", found, ')');
    text += str(v->retired ? " (out of use)" : v->is_in_use ? "" : " (slower)", ';');
  }
  text.back() = '\n';
  if (others.size() > kShown) text.insert(text.size() - 1, str(" and ", others.size() - kShown, " more"));
  return text;
}

std::string explainChecks(const Variant& v, CompileCheck check) {
  if (check == CompileCheck::kAlways) return "  each run is checked\n";
  if (!v.schedule.isOn()) return "  not checked, because it calls kernels of the program, which would run twice\n";
  const uint64_t checked = v.schedule.count(), runs = v.runs->begun.load(std::memory_order_relaxed);
  return str("  checked without a difference in ", checked, " of ", counted(runs, "run"),
             checked == 0 ? "" : str(", most recently in run ", v.schedule.lastRight()), '\n');
}

}  // namespace

std::string CompiledFunction::State::explainVariants() const {
  std::string text;
  Described described;
  std::vector<const Variant*> left = variants.all();
  for (size_t number = 0; !left.empty(); ++number) {
    const Variant& first = *left[0];
    std::vector<const Variant*> others, of_other_kinds;
    for (const Variant* v : std::span(left).subspan(1))
      (v->kind.kind == first.kind.kind ? others : of_other_kinds).push_back(v);
    const std::string guarded = first.guard->describe();
    text += str("variant ", number, first.retired ? " (out of use) " : " ", guarded, ": ",
                counted(first.graph.nodeCount(), "operator"), '\n');
    if (const auto* like = described.add(*first.guard, number, guarded))
      if (const std::string found = first.guard->differenceFrom(*like->guard); !found.empty())
        text += str("  differs from variant ", like->number, " in ", found, '\n');
    if (options.check != CompileCheck::kNever) text += explainChecks(first, options.check);
    if (const std::string slower = first.trial.describe(); !slower.empty())
      text += str("  calls run the function: ", slower, '\n');
    if (!others.empty()) text += explainOthers(first, others);
    std::set<std::string> reasons = {first.why_no_backward};
    for (const Variant* v : others) reasons.insert(v->why_no_backward);
    for (const std::string& why : reasons)
      if (!why.empty()) text += str("  its backward pass is not compiled: ", why, '\n');
    left = std::move(of_other_kinds);
  }
  return text;
}

/// How many calls ran the function for which reason.
std::string CompiledFunction::State::explainCounts() const {
  compiled::WhyCounts::Numbers numbers = whys.numbers();
  passing_kinds.takeBackFrom(numbers);
  uint64_t& passing = numbers[static_cast<size_t>(passing_why.load(std::memory_order_relaxed))];
  passing -= std::min<uint64_t>(passing, tally.passing.load(std::memory_order_relaxed));
  return compiled::WhyCounts::describe(numbers);
}

/// Why such a call gets no graph, if nothing else is in its way. Under the mutex.
std::string CompiledFunction::State::explainMiss(const CompileKind& call) const {
  std::string text = seen.explain(call, recording_cost.expected());
  if (seen.isPostponed(call)) text += "; " + compiled::RecordingCost::describeBudget();
  return text;
}

/// What is in the way of more graphs. Under the mutex.
std::string CompiledFunction::State::explainRecording() const {
  std::string text;
  if (!refusal.empty()) text += str(given_up ? "not recorded any more: " : "not recorded: ", refusal, '\n');
  if (last_missed && !given_up)
    text += str(
        variants.all().empty() ? "no graph yet: " : "the last call without a graph: ", explainMiss(*last_missed), '\n');
  return text + new_arguments.explain();
}

std::string CompiledFunction::State::explainBounds() const {
  std::string text;
  if (variants.areTooMany())
    return str(variants.all().size(),
               " variants were recorded, and registrations invalidated most of them; no more are recorded\n");
  if (seen.hasAllKinds())
    text +=
        str("at most ", counted(static_cast<uint64_t>(options.max_variants), "kind"),
            " of arguments can have graphs (CompileOptions::max_variants); each value of a number is a kind, so keep a "
            "number that changes often in a 0-dim tensor\n");
  if (seen.hasAllSizesOfAKind())
    text += str("at most ", counted(static_cast<uint64_t>(options.max_sizes), "size"),
                " of one kind can have graphs (CompileOptions::max_sizes)\n");
  return text;
}

std::string CompiledFunction::explain() const {
  const State& s = *state_;
  const uint64_t by_graph = s.tally.hits(), by_function = s.tally.functionCalls();
  std::string text =
      str(s.options.name, ": ", counted(by_graph, "call"), " ran a graph, ", by_function, " the function\n");
  if (!compiled::isSwitchedOn()) text += str(textOf(Why::kSwitchedOff), ": all calls run the function\n");
  if (by_graph + by_function == 0) return text + "not called yet\n";
  text += s.explainCounts();
  const std::lock_guard lock(s.mutex);
  return text + s.explainVariants() + s.explainRecording() + s.explainBounds();
}

std::string CompiledFunction::explain(const CompileArguments& arguments) const {
  State& s = *state_;
  const auto runsFunction = [&](const std::string& why) {
    return str(s.options.name, ": runs the function: ", why, '\n');
  };
  if (!compiled::isSwitchedOn()) return runsFunction(textOf(Why::kSwitchedOff));
  if (const Why why = compiled::whyNotOnThisThread(); why != Why::kNone) return runsFunction(textOf(why));
  constexpr size_t kMostShown = 16;
  std::string text;
  size_t others = 0;
  for (const Variant* v : s.variantsNow()) {
    if (v->retired) continue;
    const std::string difference = v->guard->difference(arguments);
    if (const std::string slower = v->trial.describe(); difference.empty() && !slower.empty())
      return runsFunction(slower + ", for the graph recorded " + v->guard->describe());
    if (difference.empty() && v->isCurrent())
      return str(s.options.name, ": runs the graph recorded ", v->guard->describe(), '\n');
    if (difference.empty())
      return runsFunction(str("an operator of the graph recorded ", v->guard->describe(),
                              " is registered in another way now; the next call puts it out of use"));
    if (++others <= kMostShown)
      text += str("  not the one recorded ", v->guard->describe(), ": it differs in ", difference, '\n');
  }
  if (others > kMostShown) text += str("  nor ", others - kMostShown, " others\n");
  for (const Tensor* t : arguments.tensors)
    if (const Why why = compiled::whyNotWith(*t, s.links_history.load(std::memory_order_relaxed)); why != Why::kNone)
      return runsFunction(textOf(why)) + text;
  const std::lock_guard lock(s.mutex);
  if (s.given_up) return runsFunction("it is not recorded any more: " + s.refusal) + text;
  if (s.variants.areTooMany()) return runsFunction("too many variants were made:") + s.explainBounds() + text;
  const CompileKind kind = s.kindOf(arguments);
  const bool has_failed = s.seen.wasTried(kind) && !s.refusal.empty();
  return runsFunction(s.explainMiss(kind) + (has_failed ? "; the last attempt failed: " + s.refusal : "")) + text;
}

}  // namespace shunt::detail
