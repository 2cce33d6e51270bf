// Autograd of wrapper tensors: the graph of a wrapper lives on the tensor that TensorImpl::graph_tensor() names. That
// tensor also answers autograd's questions to the wrapper.
//
// A wrapper class only has to give its TensorImpl a ForwardingMeta. Pure functions of the given tensor.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

/// The tensor that holds the graph: the innermost one behind a wrapper or behind nested wrappers, otherwise `t` itself.
/// The reference is valid while `t` lives and the wrapper does not change.
inline const Tensor& graph_tensor(const Tensor& t) {
  const Tensor* now = &t;
  while (now->defined()) {
    const Tensor* inner = now->unsafeGetTensorImpl()->graph_tensor();
    if (inner == nullptr) break;
    now = inner;
  }
  return *now;
}

/// Whether `t` is a wrapper whose graph lives on another tensor.
inline bool forwards_graph(const Tensor& t) { return t.unsafeGetTensorImpl()->graph_tensor() != nullptr; }

/// A wrapper's metadata. It stays empty, so nothing is recorded on the wrapper. The inner tensor decides whether the
/// wrapper requires grad.
class ForwardingMeta final : public AutogradMeta {
 public:
  explicit ForwardingMeta(const TensorImpl& wrapper) : wrapper_(wrapper) {}
  bool requires_grad() const override {
    const Tensor* inner = wrapper_.graph_tensor();
    return inner != nullptr && inner->defined() && inner->requires_grad();
  }

 private:
  const TensorImpl& wrapper_;  // owns this object
};

}  // namespace shunt::autograd
