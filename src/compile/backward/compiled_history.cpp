#include "src/compile/backward/compiled_history.h"

#include "src/compile/backward/eligible.h"
#include "src/compile/backward/parts.h"
#include "src/compile/backward/places.h"
#include "src/compile/passes/aliases.h"
#include "src/trace/values_of.h"

#include <shunt/autograd/autograd_meta.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_set>

namespace shunt::compiled {
namespace {

constexpr int kMostMeetings = 8;

/// Whether each of the outputs has memory of its own, which isn't written when it has been made.
void checkAreApart(const Graph& graph, const std::vector<size_t>& outputs) {
  const Aliases aliases(graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Graph::Value* v = graph.outputs()[outputs[i]];
    for (size_t j = 0; j < i; ++j)
      if (aliases.of(v) == aliases.of(graph.outputs()[outputs[j]])) refuse("results that require grad share memory");
    if (outputs.size() > 1 && isWrittenAfter(graph, v, aliases))
      refuse("several results require grad, and one is written in place");
  }
}

/// Nothing may write what histories meet in. Where that was written in place, nothing may read what was made of the
/// same tensor before: it has a history that leads through the write. Where the write was not recorded, the tensor has
/// the history that it had, and what has read it before leads there, too; but not what it has read.
void checkMeeting(const Graph& graph, const Graph::Value* meeting) {
  const char* why = "several results require grad, whose histories meet in what is written in place";
  const Aliases aliases(graph);
  if (isWrittenBehind(graph, meeting, aliases)) refuse(why);
  if (writtenInPlace(*meeting->node) == nullptr) return;
  const std::vector<Graph::Node*> nodes = graph.nodes();
  const auto write = std::ranges::find(nodes, meeting->node);
  std::unordered_set<const Graph::Value*> made_before(graph.inputs().begin(), graph.inputs().end());
  made_before.insert(graph.constants().begin(), graph.constants().end());
  for (auto node = nodes.begin(); node != write; ++node) {
    if (!meeting->node->modes.grad)
      trace_detail::forArguments(**node, [&](const Graph::Value* v) {
        if (aliases.of(v) == aliases.of(meeting)) refuse(why);
      });
    trace_detail::forResults(**node, [&](const Graph::Value* v) { made_before.insert(v); });
  }
  const auto check = [&](const Graph::Value* v) {
    if (v != nullptr && aliases.of(v) == aliases.of(meeting) && made_before.contains(v)) refuse(why);
  };
  for (auto node = write + 1; node != nodes.end(); ++node) trace_detail::forArguments(**node, check);
  std::ranges::for_each(graph.outputs(), check);
}

}  // namespace

std::unique_ptr<const CompiledHistory> CompiledHistory::make(const Graph& recorded, const std::vector<Tensor>& outputs,
                                                             const std::string& name, bool checks) {
  auto out = std::make_unique<CompiledHistory>();
  Graph graph = recorded.clone();
  out->outputs_ = graph.outputs().size();
  const std::vector<size_t> found = resultsWithHistory(graph, outputs);
  for (const size_t i : found) {
    out->results_.push_back(
        {.output = i, .views = TrailingViews::takenFrom(graph, i, found.size() > 1), .backward = nullptr});
    // Beside others, a result that may be another value's tensor is no end of a part: gradients come to that one, too.
    const bool is_known = out->results_.back().views.empty() && found.size() == 1;
    checkIsNoView(graph, i, is_known ? outputs[i] : Tensor());
  }
  const Parts parts = out->findParts(graph);
  out->draws_ = std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
  const Places places(recorded);
  out->places_ = places.count();
  out->makeParts(graph, parts, places, name, checks);
  out->orderSteps(outputs);
  out->placeSteps(recorded, graph, places);
  return out;
}

void CompiledHistory::orderSteps(const std::vector<Tensor>& outputs) {
  struct Place {
    uint64_t sequence_nr;
    size_t result;  // among equals: what another one is made of has its place
    Step step;
    bool operator<(const Place& o) const { return std::tie(sequence_nr, result) < std::tie(o.sequence_nr, o.result); }
  };
  std::vector<Place> places;
  uint64_t next = 0;
  for (size_t i = results_.size(); i-- > 0;) {
    if (results_[i].output < outputs_) {
      const Tensor& t = outputs[results_[i].output];
      const auto* view = results_[i].views.empty() ? nullptr : autograd::get_view_autograd_meta(t);
      if (view != nullptr) places.push_back({t.grad_fn()->sequence_nr(), i, {i, true}});
      next = (view != nullptr ? view->base_ : t).grad_fn()->sequence_nr();
    }
    places.push_back({next, i, {i, false}});
  }
  std::ranges::sort(places, std::less());
  for (const Place& p : places) steps_.push_back(p.step);
}

void CompiledHistory::placeSteps(const Graph& recorded, const Graph& graph, const Places& places) {
  uint64_t last = 0;
  for (Step& s : steps_) {
    const size_t output = results_[s.result].output;
    const Graph::Value* made = (s.is_view ? recorded : graph).outputs()[output];
    const bool is_node = !s.is_view && results_[s.result].split == nullptr;
    s.place = last = std::max(last, is_node ? places.lastOf(*made) : places.of(*made));
  }
}

Parts CompiledHistory::findParts(Graph& graph) {
  std::vector<size_t> all;
  for (const Result& r : results_) all.push_back(r.output);
  if (all.size() == 1) return {.order = all, .given = {}, .reached = {}, .reached_often = {}};
  checkAreApart(graph, all);
  for (int i = 0; i < kMostMeetings; ++i) {
    Parts parts = partsOf(graph, all);
    if (parts.meetings.empty()) return parts;
    addMeetings(graph, parts.meetings);
    all.clear();
    for (const Result& r : results_) all.push_back(r.output);
  }
  refuse("several results require grad, whose histories meet in too many places");
}

void CompiledHistory::addMeetings(Graph& graph, const std::vector<Graph::Value*>& meetings) {
  SplitViews* split = nullptr;
  std::vector<Graph::Value*> outputs = graph.outputs();
  for (Graph::Value* v : meetings) {
    checkMeeting(graph, v);
    const bool is_part = SplitViews::isNode(*v->node);
    auto at = std::ranges::find(outputs, v);
    const auto output = static_cast<size_t>(at - outputs.begin());
    if (is_part && split == nullptr) {
      const auto base = std::ranges::find(outputs, v->node->arguments[0].value());
      split = &splits_.emplace_back(*v->node, static_cast<size_t>(base - outputs.begin()));
    }
    if (is_part)
      split->add(
          static_cast<size_t>(std::ranges::find(v->node->outputs[0].values, v) - v->node->outputs[0].values.begin()),
          output);
    if (at != outputs.end()) continue;  // what parts are views of may be a result already
    results_.push_back({.output = output, .views = {}, .backward = nullptr, .split = is_part ? split : nullptr});
    outputs.push_back(v);
  }
  graph.setOutputs(std::move(outputs));
}

void CompiledHistory::makeParts(const Graph& graph, const Parts& parts, const Places& places, const std::string& name,
                                bool checks) {
  for (const Result& r : results_)
    if (!r.views.empty() && results_.size() > 1 && parts.reached[r.output])
      refuse("several results require grad, and one is a view of what another is made of");
  std::ranges::sort(results_, {}, [&](const Result& r) { return std::ranges::find(parts.order, r.output); });
  std::optional<Joint> joint;
  std::vector<size_t> made;  // outputs that have a node by then
  std::vector<SavedValue> saved;
  for (Result& r : results_) {
    made.push_back(r.output);
    if (r.split != nullptr) continue;
    r.backward = CompiledBackward::make(graph, r.output, {made.begin(), made.end() - 1}, name, places, checks, joint);
    for (const SavedValue& s : r.backward->saved())
      if (!s.is_given && std::ranges::find(saved, s) == saved.end()) saved.push_back(s);
    for (const auto& seen : joint->seen)
      if (std::ranges::find(seen_, seen) == seen_.end()) seen_.push_back(seen);
  }
  CompiledBackward::Layouts layouts(parts.given.size() + parts.reached.size());
  for (Result& r : results_)
    if (r.backward != nullptr) r.backward->addsBesideOthers(parts, layouts);
  forward_ = forwardOf(*joint, saved);
  const auto& outputs = joint->graph.outputs();
  const std::vector<Graph::Value*> values = valuesOf(*joint, saved);
  const auto place = [&](const SavedValue& s) {
    const auto position = static_cast<size_t>(std::ranges::find(saved, s) - saved.begin());
    const auto same = std::ranges::find(outputs, values[position]);
    return same != outputs.end() ? static_cast<size_t>(same - outputs.begin()) : outputs.size() + position;
  };
  for (Result& r : results_)
    if (r.backward != nullptr) r.backward->setSources(place);
}

detail::CompileOutputs CompiledHistory::run(const Executor& forward, std::span<const Tensor* const> inputs,
                                            const StandIns* stand_ins) const {
  CompiledBackward::Call call;
  if (draws_) call.drawn.first = default_generator()->position();
  detail::CompileOutputs made = stand_ins != nullptr ? forward.runApart(inputs, *stand_ins) : forward.runOn(inputs);
  if (draws_) call.drawn.second = default_generator()->position();
  call.first_place = autograd::detail::next_sequence_nr;
  if (results_.size() > 1) call.any_unfolded = std::make_shared<std::atomic<bool>>(false);
  detail::CompileOutputs out;
  for (size_t i = 0; i < outputs_; ++i) out.emplace_back();
  const Places::Scope places(call.first_place + places_);
  for (const Step& s : steps_) {
    const Result& r = results_[s.result];
    places.goTo(call.first_place + s.place);
    if (r.split != nullptr) {
      if (r.split->isFirst(r.output)) r.split->putInto(made);
      continue;
    }
    // It may be a tensor that the caller gets, too, by another output, or noted as a view.
    if (r.output >= outputs_) made[r.output] = autograd::detached_alias(made[r.output]);
    if (s.is_view)
      out[r.output] = r.views.of(made[r.output]);
    else
      r.backward->addNode(made, inputs, call, stand_ins);
  }
  for (size_t i = 0; i < outputs_; ++i)
    if (!out[i].defined()) out[i] = std::move(made[i]);
  return out;
}

bool CompiledHistory::isRunAgainTooOften() const {
  return std::ranges::any_of(results_,
                             [](const Result& r) { return r.backward != nullptr && r.backward->isRunAgainTooOften(); });
}

const char* CompiledHistory::whyNotCompiled() const {
  const bool gave_others = std::ranges::any_of(
      results_, [](const Result& r) { return r.backward != nullptr && r.backward->gaveOtherResults(); });
  return gave_others ? "an operator in it has given other results than were recorded"
                     : "the function's graph has been run again for backward() too often";
}

std::string CompiledHistory::nameOf(const Result& r) const {
  return r.output < outputs_ ? detail::str("result ", r.output) : "where histories of results meet";
}

void CompiledHistory::describe(std::vector<PlanDescription>& out) const {
  for (const Result& r : results_) {
    if (r.backward == nullptr) continue;
    const size_t first = out.size();
    r.backward->describe(results_.size() > 1 ? nameOf(r) + ", " : "", out);
    if (first < out.size()) out[first].trailing_views = r.views.names();
  }
}

std::string CompiledHistory::print() const {
  std::string text;
  for (const Result& r : results_) {
    if (r.backward == nullptr) continue;
    if (results_.size() > 1) text += nameOf(r) + ":\n";
    text += r.backward->print();
  }
  return text;
}

}  // namespace shunt::compiled
