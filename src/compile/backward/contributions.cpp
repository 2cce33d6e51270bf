#include "src/compile/backward/contributions.h"

#include "src/autograd/graph_task.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/autograd.h>
#include <shunt/autograd/variable_utils.h>

#include <limits>
#include <unordered_set>
#include <vector>

namespace shunt::compiled {
namespace {

using autograd::Edge;
using autograd::variable_list;

/// Stands in the place of a leaf's accumulator, for one edge or for all. The engine runs it as soon as its gradient is
/// there; of those of one node the first edge's comes first, as gradients are delivered.
struct Contribution final : Node {
  Contribution(size_t edge, const Tensor& leaf, size_t number, ContributionFn each)
      : Node(std::numeric_limits<uint64_t>::max() - edge, {}), number(number), each(each) {
    add_input_metadata(leaf);
  }
  variable_list apply(variable_list&& grads) override {
    Tensor gradient = std::move(grads[0]);
    grads.clear();  // so that nobody but `gradient` holds it, where nobody else does
    each(number, std::move(gradient));
    return {};
  }
  const size_t number;
  const ContributionFn each;
};

/// The edges of a history that lead to leaves, while it lives: to a Contribution each.
class Diverted {
 public:
  /// `apart`: each edge leads to a node of its own.
  Diverted(const Tensor& result, std::span<const Tensor> leaves, bool apart, ContributionFn each)
      : leaves_(leaves), apart_(apart), each_(each), stands_(leaves.size()) {
    for (const Tensor& t : leaves) ends_.push_back(autograd::gradient_edge(t));
    std::unordered_set<const Node*> seen;
    std::vector<Node*> left = {autograd::gradient_edge(result).function.get()};
    if (left[0] == nullptr || isLeaf(*left[0])) throw Error("the result requires grad and has no history");
    while (!left.empty()) {
      Node* node = left.back();
      left.pop_back();
      if (!seen.insert(node).second) continue;
      for (size_t i = 0; i < node->num_outputs(); ++i)
        if (Node* next = node->next_edge(i).function.get(); next != nullptr && !divert(*node, i)) left.push_back(next);
    }
  }
  ~Diverted() {
    for (auto& [node, i, edge] : was_) node->set_next_edge(i, std::move(edge));
  }
  Diverted(const Diverted&) = delete;
  Diverted& operator=(const Diverted&) = delete;

 private:
  struct Was {
    intrusive_ptr<Node> node;
    size_t i;
    Edge edge;
  };

  static bool isLeaf(const Node& node) { return dynamic_cast<const autograd::AccumulateGrad*>(&node) != nullptr; }

  bool divert(Node& node, size_t i) {
    const Edge& edge = node.next_edge(i);
    for (size_t leaf = 0; leaf < ends_.size(); ++leaf) {
      if (!(ends_[leaf] == edge)) continue;
      was_.push_back({intrusive_ptr<Node>::retainFrom(&node), i, edge});
      if (apart_ || !stands_[leaf]) stands_[leaf] = make_intrusive<Contribution>(i, leaves_[leaf], leaf, each_);
      node.set_next_edge(i, Edge(stands_[leaf], 0));
      return true;
    }
    if (isLeaf(*edge.function)) throw Error("the result's history leads to a tensor that the function was not given");
    return false;
  }

  const std::span<const Tensor> leaves_;
  const bool apart_;
  const ContributionFn each_;
  std::vector<intrusive_ptr<Node>> stands_;  // the last one for each leaf
  std::vector<Edge> ends_;
  std::vector<Was> was_;
};

}  // namespace

void contributionsOf(const Tensor& result, const Tensor& gradient, std::span<const Tensor> leaves, bool create_graph,
                     ContributionFn each) {
  const Diverted diverted(result, leaves, true, each);
  autograd::execute(variable_list{result}, variable_list{gradient}, {}, true, true, create_graph);
}

void gradientsOf(const Tensor& result, const Tensor& gradient, std::span<const Tensor> leaves, ContributionFn each) {
  const Diverted diverted(result, leaves, false, each);
  autograd::execute(variable_list{result}, variable_list{gradient}, {}, true, true, false);
}

}  // namespace shunt::compiled
