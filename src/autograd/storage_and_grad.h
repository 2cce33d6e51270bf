// A tensor's storage and grad, by which tensors that share them are known, and its place in a graph. Any thread.
#pragma once

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/graph_tensor.h>

namespace shunt::autograd {

/// Null of an undefined tensor, and of one without memory.
inline const StorageImpl* storageOf(const Tensor& t) {
  return t.defined() && t.unsafeGetTensorImpl()->has_storage() ? t.unsafeGetTensorImpl()->storage().get() : nullptr;
}

/// The grad that the tensor itself has, whatever it wraps and wherever it stands in a graph; null where there is none.
inline const Tensor* gradOf(const Tensor& t) {
  const AutogradMeta* meta = get_autograd_meta(t);
  return meta != nullptr && meta->grad_.defined() ? &meta->grad_ : nullptr;
}

/// Tensor::output_nr(), which a recording takes for a question of the function's.
inline uint32_t outputNrOf(const Tensor& t) {
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(t));
  return meta == nullptr ? 0 : meta->output_nr_;
}

}  // namespace shunt::autograd
