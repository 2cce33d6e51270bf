// AccumulateGrad: the node at the end of the graph, which adds gradients to the grad of one leaf.
//
// Owns the leaf. The leaf refers to its accumulator weakly, so the accumulator lives while some graph leads to it.
// Threads that run backward to one leaf at the same time take turns here.
#pragma once

#include <shunt/autograd/node.h>

#include <mutex>

namespace shunt::autograd {

struct SHUNT_API AccumulateGrad : public Node {
  explicit AccumulateGrad(Tensor variable);
  variable_list apply(variable_list&& grads) override;
  /// The part of apply after the leaf's tensor hooks: adds `grad`, then runs the post-accumulate hooks.
  void accumulateAfterHooks(Tensor grad);

  Tensor variable;  // the leaf

 protected:
  void release_resources() override;

 private:
  std::mutex mutex_;
};

}  // namespace shunt::autograd
