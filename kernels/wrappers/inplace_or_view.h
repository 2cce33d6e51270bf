// What the generated ADInplaceOrView and Autograd wrappers use beside shunt/autograd/variable_utils.h.
#pragma once

#include <shunt/autograd/variable_utils.h>
#include <shunt/core/tls.h>

namespace shunt::wrappers {

/// What may still act below an ADInplaceOrView kernel (the Autograd keys too), and below an Autograd kernel.
inline constexpr DispatchKeySet kAfterInplaceOrView = DispatchKeySet::fullAfter(DispatchKey::ADInplaceOrView);
inline constexpr DispatchKeySet kAfterAutograd = DispatchKeySet::fullAfter(DispatchKey::AutogradOther);

/// Before anything is changed: inference tensors are read-only outside InferenceMode.
inline void checkWritable(const Tensor& t) {
  if (t.defined() && t.is_inference()) [[unlikely]]
    autograd::check_inplace(t, false);
}
inline void checkWritable(TensorList list) {
  for (const Tensor& t : list) checkWritable(t);
}

inline Tensor asView(const Tensor& base, Tensor view, bool differentiable) {
  return autograd::as_view(base, std::move(view), differentiable);
}
inline std::vector<Tensor> asView(const Tensor& base, std::vector<Tensor> views, bool differentiable) {
  const autograd::CreationMeta how = autograd::current_creation_meta();
  return autograd::as_view(base, std::move(views), differentiable,
                           how == autograd::CreationMeta::kDefault ? autograd::CreationMeta::kMultiOutputNode : how);
}

}  // namespace shunt::wrappers
