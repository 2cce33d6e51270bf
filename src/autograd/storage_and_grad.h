// A tensor's storage and grad, by which tensors that share them are known. Any thread.
#pragma once

#include <shunt/autograd/autograd_meta.h>

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

}  // namespace shunt::autograd
