// SplitViews: the views of one tensor that an operator gives at once, as chunk() and unbind() do, where histories meet
// in them (Note [Several results], parts.h): made by the operator when the graph has run, so that they have its node.
// Constant once made; any thread.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/trace/graph.h>

#include <utility>
#include <vector>

namespace shunt::compiled {

class SplitViews {
 public:
  /// Of the node that gives them. `base`: the graph's output that they are views of.
  SplitViews(const Graph::Node& node, size_t base);
  /// Whether a node gives such views.
  static bool isNode(const Graph::Node& node);

  /// The view `element` is the graph's output `output`.
  void add(size_t element, size_t output) { outputs_.emplace_back(element, output); }
  /// Whether it is the first one that was added.
  bool isFirst(size_t output) const { return outputs_[0].second == output; }
  /// Puts the views of what `outputs` has for the base among these.
  template <class Outputs>
  void putInto(Outputs& outputs) const {
    const std::vector<Tensor> views = of(outputs[base_]);
    for (const auto& [element, output] : outputs_) outputs[output] = views[element];
  }

 private:
  std::vector<Tensor> of(const Tensor& base) const;

  OperatorHandle op_;
  Stack numbers_;  // the arguments behind the tensor
  size_t base_;
  std::vector<std::pair<size_t, size_t>> outputs_;
};

}  // namespace shunt::compiled
