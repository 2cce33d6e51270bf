// Autograd kernels that no formula describes: operators that change what a tensor is, not what it holds.
#include "generated/native_functions.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/core/tls.h>

namespace shunt::native {

Tensor& detach_autograd_(Tensor& self) {
  SHUNT_CHECK(self.defined(), "detach_(): argument 'self' is an undefined tensor; expected one with data");
  if (InferenceMode::is_enabled())
    return self;  // which leaves graphs alone: views may be passed here too, as in PyTorch
  SHUNT_CHECK(!self.is_view(), "Can't detach views in-place: use detach(), which returns a new tensor");
  if (self.unsafeGetTensorImpl()->autograd_meta() == nullptr) return self;
  autograd::AutogradMeta* meta = autograd::materialize_autograd_meta(self);
  meta->requires_grad_ = false;
  meta->retains_grad_ = false;
  meta->grad_fn_.reset();
  meta->output_nr_ = 0;
  TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_key_set(impl->key_set() - kAutogradKeys);
  return self;
}

Tensor& resize_autograd_(Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  SHUNT_CHECK(!self.requires_grad(), "cannot resize variables that require grad");
  AutoDispatchBelowAutograd guard;
  return ops::resize_::call(self, size, memory_format);
}

Tensor& resize_as_autograd_(Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
  SHUNT_CHECK(!self.requires_grad(), "cannot resize variables that require grad");
  AutoDispatchBelowAutograd guard;
  return ops::resize_as_::call(self, the_template, memory_format);
}

}  // namespace shunt::native
