#include "src/compile/backward/parts.h"

#include "src/compile/backward/joint.h"
#include "src/compile/backward/split_views.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/same_views.h"
#include "src/trace/retrace.h"
#include "src/trace/values_of.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shunt::compiled {
namespace {

using autograd::Edge;

/// The values of a graph by the nodes of their history.
class ByNode {
 public:
  void add(Graph::Value* v, const Tensor& t) try {
    if (!t.defined() || !t.requires_grad() || t.is_leaf()) return;
    const Edge edge = autograd::gradient_edge(t);
    auto& known = values_[edge.function.get()];
    const auto same = std::ranges::find(known, edge.input_nr, &Made::first);
    if (same == known.end())
      known.emplace_back(edge.input_nr, v);
    else
      same->second = v;     // in-place operators give a tensor again: the last one is it
  } catch (const Error&) {  // of one of several views whose base was written, which has no history that can be followed
  }
  std::vector<Graph::Value*> of(const Node* node) const {
    std::vector<Graph::Value*> out;
    if (const auto found = values_.find(node); found != values_.end())
      for (const auto& [input_nr, v] : found->second) out.push_back(v);
    return out;
  }

 private:
  using Made = std::pair<uint32_t, Graph::Value*>;
  std::unordered_map<const Node*, std::vector<Made>> values_;
};

/// Of each root the number of the first one that the same node gave.
std::vector<size_t> firstOfNodes(const std::vector<Edge>& roots) {
  std::vector<size_t> out;
  for (const Edge& root : roots)
    out.push_back(static_cast<size_t>(std::ranges::find(roots, root.function, &Edge::function) - roots.begin()));
  return out;
}

class Histories {
 public:
  /// `leaves`: undefined where a given tensor gets no gradient.
  Histories(std::vector<Edge> roots, std::vector<Edge> leaves) : roots_(std::move(roots)), leaves_(std::move(leaves)) {
    const std::vector<size_t> firsts = firstOfNodes(roots_);
    for (size_t part = 0; part < roots_.size(); ++part)
      if (firsts[part] == part) mark(part);
    for (const auto& [node, state] : nodes_)
      for (size_t i = 0; i < node->num_outputs(); ++i)
        if (Node* next = node->next_edge(i).function.get(); nodes_.contains(next)) ++nodes_.at(next).dependencies;
  }

  /// The last node at which histories meet that is no root; null: there is none.
  const Node* meeting() const { return meeting_; }

  /// As a backward pass from all results runs: calls f(target, part, node) for each gradient that comes from a part, by
  /// one of its nodes, to a leaf, or to a root, which are numbered behind the leaves.
  template <class F>
  void run(F&& f) {
    std::vector<Node*> ready;
    for (const Edge& root : roots_)
      if (nodes_.at(root.function.get()).dependencies == 0) ready.push_back(root.function.get());
    while (!ready.empty()) {
      const auto first = std::ranges::max_element(ready, {}, [](const Node* n) { return n->sequence_nr(); });
      const Node* node = *first;
      ready.erase(first);
      for (size_t i = 0; i < node->num_outputs(); ++i) {
        const Edge& edge = node->next_edge(i);
        if (!edge.is_valid()) continue;
        const auto leaf = std::ranges::find(leaves_, edge), root = std::ranges::find(roots_, edge);
        if (leaf != leaves_.end())
          f(static_cast<size_t>(leaf - leaves_.begin()), nodes_.at(node).part, node);
        else if (root != roots_.end())
          f(leaves_.size() + static_cast<size_t>(root - roots_.begin()), nodes_.at(node).part, node);
        const auto next = nodes_.find(edge.function.get());
        if (leaf == leaves_.end() && next != nodes_.end() && --next->second.dependencies == 0)
          ready.push_back(edge.function.get());
      }
    }
  }

 private:
  struct State {
    size_t part;
    size_t dependencies = 0;
  };

  bool isRoot(const Edge& edge) const { return std::ranges::find(roots_, edge) != roots_.end(); }

  void mark(size_t part) {
    std::vector<const Node*> left = {roots_[part].function.get()};
    while (!left.empty()) {
      const Node* node = left.back();
      left.pop_back();
      const auto [known, is_new] = nodes_.try_emplace(node, State{part});
      const bool meets = known->second.part != part;
      if (meets && (meeting_ == nullptr || node->sequence_nr() > meeting_->sequence_nr())) meeting_ = node;
      if (!is_new) continue;
      for (size_t i = 0; i < node->num_outputs(); ++i) {
        const Edge& edge = node->next_edge(i);
        const bool ends = !edge.is_valid() || isRoot(edge) || std::ranges::find(leaves_, edge) != leaves_.end();
        if (!ends && dynamic_cast<const autograd::AccumulateGrad*>(edge.function.get()) == nullptr)
          left.push_back(edge.function.get());
      }
    }
  }

  const std::vector<Edge> roots_, leaves_;
  std::unordered_map<const Node*, State> nodes_;
  const Node* meeting_ = nullptr;
};

/// What is to be results, too, so that histories meet in them. Throws Error where they can't be.
std::vector<Graph::Value*> resultsAt(const Node* meeting, const ByNode& made, const std::vector<Edge>& roots) {
  const auto isOfIt = [&](const Edge& root) { return root.function.get() == meeting; };
  if (std::ranges::any_of(roots, isOfIt)) refuse("one operator gives several results that require grad");
  std::vector<Graph::Value*> out = made.of(meeting);
  if (out.empty() || out[0]->node == nullptr) refuse("several results require grad, whose histories meet in no result");
  if (SplitViews::isNode(*out[0]->node))
    out.insert(out.begin(), out[0]->node->arguments[0].value());
  else if (out.size() > 1)
    refuse("several results require grad, whose histories meet in an operator of several results");
  if (out[0]->node == nullptr) refuse("several results require grad, whose histories meet in parts of what was given");
  const Graph::Node& node = *out[0]->node;
  if (mayAlias(node) && !makesView(node) && writtenInPlace(node) == nullptr)
    refuse("several results require grad, whose histories meet in what may share memory");
  return out;
}

struct Ways {
  std::vector<std::vector<size_t>> parts;  // that lead to each leaf, and then to each root, in their gradients' order
  // A node whose part has the higher number, so that it runs first, while eager code runs another part's node before.
  const Node* late = nullptr;
};

/// `homes`: homesOf() the leaves. `count`: of leaves and roots.
Ways waysTo(Histories& histories, size_t count, const std::vector<size_t>& homes) {
  Ways out;
  out.parts.resize(count);
  histories.run([&](size_t target, size_t part, const Node* node) {
    std::vector<size_t>& ways = out.parts[target < homes.size() ? homes[target] : target];
    if (!ways.empty() && ways.back() < part && out.late == nullptr) out.late = node;
    if (ways.empty() || ways.back() != part) ways.push_back(part);
  });
  return out;
}

}  // namespace

Parts partsOf(const Graph& graph, const std::vector<size_t>& results) {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched});
  Graph all = graph.clone();  // which gives all that its nodes make
  std::vector<Graph::Value*> made;
  for (const Graph::Node* node : all.nodes())
    trace_detail::forResults(*node, [&](Graph::Value* v) { made.push_back(v); });
  std::vector<Graph::Value*> outputs = all.outputs();
  outputs.insert(outputs.end(), made.begin(), made.end());
  all.setOutputs(std::move(outputs));
  trace_detail::Retrace retrace(all);
  std::vector<Edge> leaves;
  for (const Graph::Value* v : givenOf(all)) {
    const Tensor& t = autograd::graph_tensor(retrace.wrapper(*v));
    leaves.push_back(t.requires_grad() ? autograd::gradient_edge(t) : Edge());
  }
  Parts out{.order = results, .given = {}, .reached = {}, .reached_often = {}};
  const auto analyse = [&](const trace_detail::Interpreter& interpreter) {
    ByNode by_node;
    for (Graph::Value* v : made) by_node.add(v, autograd::graph_tensor(interpreter.output(v)));
    const auto rootOf = [&](size_t i) {
      return autograd::gradient_edge(autograd::graph_tensor(interpreter.output(all.outputs()[i])));
    };
    // Of what an operator gave several views, the tensor itself may have lost its history since.
    if (!std::ranges::all_of(out.order, [&](size_t i) { return rootOf(i).is_valid(); }))
      refuse("several results require grad, whose histories meet in what has none in the end");
    // What a history leads to was recorded before it.
    std::ranges::sort(out.order, {}, [&](size_t i) { return std::pair(rootOf(i).function->sequence_nr(), i); });
    std::vector<Edge> roots;
    for (const size_t i : out.order) roots.push_back(rootOf(i));
    const std::vector<size_t> firsts = firstOfNodes(roots);
    for (size_t i = 0; i < roots.size(); ++i)
      if (firsts[i] != i && !SplitViews::isNode(*all.outputs()[out.order[i]]->node))
        refuse("one operator gives several results that require grad");
    const auto meetIn = [&](const std::vector<Graph::Value*>& values) {
      for (const Graph::Value* v : values) out.meetings.push_back(graph.value(v->id));
    };
    Histories histories(roots, leaves);
    if (histories.meeting() != nullptr) return meetIn(resultsAt(histories.meeting(), by_node, roots));
    const std::vector<size_t> homes = homesOf(givenOf(graph));
    const auto [ways, late] = waysTo(histories, leaves.size() + roots.size(), homes);
    if (late != nullptr) {
      const auto isLate = [&](const Edge& root) { return root.function.get() == late; };
      if (std::ranges::any_of(roots, isLate))
        refuse("several results require grad, and one tensor gets gradients from their histories in turns");
      return meetIn(resultsAt(late, by_node, roots));
    }
    for (size_t i = 0; i < leaves.size(); ++i) out.given.push_back(ways[homes[i]].size() > 1);
    out.reached.resize(graph.outputs().size());
    out.reached_often.resize(graph.outputs().size());
    for (size_t i = 0; i < roots.size(); ++i) {
      out.reached[out.order[i]] = !ways[leaves.size() + i].empty();
      out.reached_often[out.order[i]] = ways[leaves.size() + i].size() > 1;
    }
  };
  retrace.run([&](const Graph::Value& v) { return retrace.wrapper(v); }, analyse, [](const Tensor& t) { return t; });
  return out;
}

}  // namespace shunt::compiled
