#include "src/compile/backward/remade.h"

#include "src/compile/backward/cheap_node.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/passes/aliases.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shunt::compiled {
namespace {

using trace_detail::forArguments;

/// Nodes that are run again for one value.
constexpr size_t kMostNodes = 4;

class Chooser {
 public:
  Chooser(const Joint& joint, const std::vector<SavedValue>& saved) : aliases_(joint.graph) {
    for (const Graph::Value* v : valuesOf(joint, saved)) saved_.insert(v);
    for (const Graph::Value* v : joint.graph.outputs())
      if (v != nullptr) left_.insert(aliases_.of(v));
    const std::vector<Graph::Node*> nodes = joint.graph.nodes();
    for (size_t i = 0; i < joint.forward_nodes; ++i)
      forArguments(*nodes[i], [&](const Graph::Value* v) { is_needed_[v] |= !isCheap(*nodes[i]); });
  }

  /// In the order in which the function makes them.
  bool takes(const Graph::Value* v) {
    if (v->node == nullptr || left_.contains(aliases_.of(v)) || is_needed_[v]) return false;
    std::unordered_set<const Graph::Node*> nodes;
    if (!addNodesFor(v, nodes)) return false;
    remade_.insert(v);
    again_.insert(nodes.begin(), nodes.end());
    return true;
  }

  /// Of the nodes that are run for what it has taken, in their order.
  std::vector<BoxedKernelFn> kernels(const Graph& graph) const {
    std::vector<BoxedKernelFn> out;
    for (const Graph::Node* node : graph.nodes())
      if (again_.contains(node)) out.push_back(kernels_.at(node));
    return out;
  }

 private:
  bool isCheap(const Graph::Node& node) {
    const auto [known, is_new] = kernels_.try_emplace(&node);
    if (is_new) known->second = cheapKernelOf(node);
    return known->second != nullptr;
  }

  bool addNodesFor(const Graph::Value* v, std::unordered_set<const Graph::Node*>& nodes) {
    if (v->node == nullptr || aliases_.isWritten(v) || !isCheap(*v->node)) return false;
    if (again_.contains(v->node) || !nodes.insert(v->node).second) return true;
    if (nodes.size() > kMostNodes) return false;
    bool is_known = true;
    forArguments(*v->node, [&](const Graph::Value* a) {
      const bool is_kept = saved_.contains(a) && !remade_.contains(a);
      is_known = is_known && (is_kept ? !aliases_.isWritten(a) : addNodesFor(a, nodes));
    });
    return is_known;
  }

  const Aliases aliases_;
  std::unordered_set<const Graph::Value*> saved_, remade_;
  std::unordered_set<const Graph::Node*> again_;  // run for remade_
  std::unordered_set<size_t> left_;               // groups of the outputs
  std::unordered_map<const Graph::Value*, bool> is_needed_;
  std::unordered_map<const Graph::Node*, BoxedKernelFn> kernels_;  // null where the node isn't cheap
};

}  // namespace

Remade::Remade(const Joint& joint, std::vector<SavedValue>& saved) {
  std::vector<SavedValue> ordered = saved;
  std::erase_if(ordered, [](const SavedValue& s) { return s.is_given; });
  std::ranges::sort(ordered, {}, &SavedValue::number);
  Chooser chooser(joint, saved);
  const std::vector<Graph::Value*> values = valuesOf(joint, ordered);
  for (size_t i = 0; i < values.size(); ++i)
    if (chooser.takes(values[i])) values_.push_back(ordered[i]);
  if (none()) return;
  std::erase_if(saved, [&](const SavedValue& s) { return std::ranges::find(values_, s) != values_.end(); });
  graph_ = remadeOf(joint, saved, values_);
  kernels_ = chooser.kernels(joint.graph);
  SHUNT_INTERNAL_ASSERT(kernels_.size() == graph_.nodeCount(), "what is made again takes other nodes than chosen");
}

void Remade::appendTo(std::vector<Tensor>& given) const {
  std::unordered_map<const Graph::Value*, Tensor> tensors;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) tensors[graph_.inputs()[i]] = given[i];
  const std::vector<Graph::Node*> nodes = graph_.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Stack stack;
    for (const Graph::Argument& a : nodes[i]->arguments)
      stack.push_back(a.value() != nullptr ? IValue(tensors.at(a.value())) : a.literal);
    kernels_[i](nullptr, nodes[i]->op, kPlainCpu, &stack);
    tensors[nodes[i]->result()] = stack.at(0).toTensor();
  }
  for (const Graph::Value* v : graph_.outputs()) given.push_back(tensors.at(v));
}

}  // namespace shunt::compiled
