#include "src/compile/backward/parts.h"

#include "src/compile/backward/joint.h"
#include "src/trace/retrace.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>

#include <algorithm>
#include <unordered_map>

namespace shunt::compiled {
namespace {

using autograd::Edge;

class Histories {
 public:
  /// `leaves`: undefined where a given tensor gets no gradient.
  Histories(std::vector<Edge> roots, std::vector<Edge> leaves) : roots_(std::move(roots)), leaves_(std::move(leaves)) {
    for (size_t part = 0; part < roots_.size(); ++part) mark(part);
    for (const auto& [node, state] : nodes_)
      for (size_t i = 0; i < node->num_outputs(); ++i)
        if (Node* next = node->next_edge(i).function.get(); nodes_.contains(next)) ++nodes_.at(next).dependencies;
  }

  /// As a backward pass from all results runs: calls f(target, part) for each gradient that comes from a part to a
  /// leaf, or to a root, which are numbered behind the leaves.
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
          f(static_cast<size_t>(leaf - leaves_.begin()), nodes_.at(node).part);
        else if (root != roots_.end())
          f(leaves_.size() + static_cast<size_t>(root - roots_.begin()), nodes_.at(node).part);
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
      if (!is_new && known->second.part != part)
        refuse("several results require grad, whose histories meet elsewhere than in one of them");
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
};

/// Which parts lead to each leaf, and then to each root, in the order of their gradients. `homes`: homesOf() the
/// leaves.
std::vector<std::vector<size_t>> waysTo(const std::vector<Edge>& roots, const std::vector<Edge>& leaves,
                                        const std::vector<size_t>& homes) {
  for (size_t i = 0; i < roots.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (roots[i].function == roots[j].function) refuse("one operator gives several results that require grad");
  std::vector<std::vector<size_t>> out(leaves.size() + roots.size());
  Histories(roots, leaves).run([&](size_t target, size_t part) {
    std::vector<size_t>& ways = out[target < homes.size() ? homes[target] : target];
    if (!ways.empty() && ways.back() < part)
      refuse("several results require grad, and one tensor gets gradients from their histories in turns");
    if (ways.empty() || ways.back() != part) ways.push_back(part);
  });
  return out;
}

}  // namespace

Parts partsOf(const Graph& graph, const std::vector<size_t>& results) {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched});
  trace_detail::Retrace retrace(graph);
  std::vector<Edge> leaves;
  for (const Graph::Value* v : givenOf(graph)) {
    const Tensor& t = autograd::graph_tensor(retrace.wrapper(*v));
    leaves.push_back(t.requires_grad() ? autograd::gradient_edge(t) : Edge());
  }
  Parts out{.order = results, .given = {}, .reached = {}, .reached_often = {}};
  const auto analyse = [&](const trace_detail::Interpreter& interpreter) {
    const auto rootOf = [&](size_t i) {
      return autograd::gradient_edge(autograd::graph_tensor(interpreter.output(graph.outputs()[i])));
    };
    // What a history leads to was recorded before it.
    std::ranges::sort(out.order, {}, [&](size_t i) { return rootOf(i).function->sequence_nr(); });
    std::vector<Edge> roots;
    for (const size_t i : out.order) roots.push_back(rootOf(i));
    const std::vector<size_t> homes = homesOf(givenOf(graph));
    const auto ways = waysTo(roots, leaves, homes);
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
