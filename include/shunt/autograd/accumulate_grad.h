// AccumulateGrad: the end of the graph at a leaf: adds what arrives to the leaf's grad.
//
// Owns the leaf; the leaf knows its accumulator weakly, so it lives as long as some graph leads to it. Threads that run
// backward at once to one leaf take turns here.
#pragma once

#include <shunt/autograd/node.h>

#include <mutex>

namespace shunt::autograd {

struct SHUNT_API AccumulateGrad : public Node {
  explicit AccumulateGrad(Tensor variable);
  variable_list apply(variable_list&& grads) override;
  /// What apply does after the leaf's hooks.
  void accumulateAfterHooks(Tensor grad);

  Tensor variable;

 protected:
  void release_resources() override;

 private:
  std::mutex mutex_;
};

}  // namespace shunt::autograd
