// Wrapper tensors and autograd: the graph of a wrapper lives on the tensor that TensorImpl::graph_tensor() names, and
// what asks the wrapper is answered by that one.
//
// A wrapper's class has to give its TensorImpl a ForwardingMeta; everything else follows. Pure functions of the given
// tensor.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

/// The tensor that holds the graph: behind a wrapper, also behind wrappers of wrappers, the inner one; otherwise `t`
/// itself. The reference is good as long as `t` is, and the wrapper isn't changed.
inline const Tensor& graph_tensor(const Tensor& t) {
  const Tensor* now = &t;
  while (now->defined()) {
    const Tensor* inner = now->unsafeGetTensorImpl()->graph_tensor();
    if (inner == nullptr) break;
    now = inner;
  }
  return *now;
}

/// Whether `t` is a wrapper whose graph lives elsewhere.
inline bool forwards_graph(const Tensor& t) { return t.unsafeGetTensorImpl()->graph_tensor() != nullptr; }

/// A wrapper's metadata: empty itself, so that nothing is recorded on the wrapper; asks the inner tensor whether it
/// requires grad.
class ForwardingMeta final : public AutogradMeta {
 public:
  explicit ForwardingMeta(const TensorImpl& wrapper) : wrapper_(wrapper) {}
  bool requires_grad() const override {
    const Tensor* inner = wrapper_.graph_tensor();
    return inner != nullptr && inner->defined() && inner->requires_grad();
  }

 private:
  const TensorImpl& wrapper_;  // which owns this
};

}  // namespace shunt::autograd
