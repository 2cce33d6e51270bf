// The methods of Tensor's "Autograd" section that are neither about views (view.cpp) nor hooks (hooks.cpp).
#include <shunt/autograd/engine.h>
#include <shunt/autograd/variable_utils.h>

#include "src/autograd/hooks.h"

namespace shunt {

using namespace autograd;

const Tensor& Tensor::set_requires_grad(bool on) const {
  impl();
  SHUNT_CHECK(!on || is_floating_point(), "only Tensors of floating point dtype can require gradients, not ", scalar_type());
  SHUNT_CHECK(!on || !is_inference() || InferenceMode::is_enabled(),
              "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Clone it first, outside InferenceMode, and set it on the clone.");
  if (!is_leaf()) {
    SHUNT_CHECK(on, "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    return *this;
  }
  if (!on && get_autograd_meta(*this) == nullptr) return *this;
  AutogradMeta* meta = materialize_autograd_meta(*this);
  meta->requires_grad_ = on;
  set_autograd_key(*this, on || meta->is_view_);
  return *this;
}

bool Tensor::is_leaf() const { return impl().autograd_meta() == nullptr || !grad_fn(); }

int64_t Tensor::output_nr() const {
  const auto* meta = static_cast<const AutogradMeta*>(impl().autograd_meta());
  return meta == nullptr ? 0 : meta->output_nr_;
}

const Tensor& Tensor::grad() const {
  static const Tensor kNone;
  const auto* meta = static_cast<const AutogradMeta*>(impl().autograd_meta());
  return meta == nullptr ? kNone : meta->grad_;
}

Tensor& Tensor::mutable_grad() const {
  impl();
  return materialize_autograd_meta(*this)->grad_;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  impl();
  autograd::backward({*this}, {gradient}, retain_graph, create_graph);
}

int64_t Tensor::_version() const {
  SHUNT_CHECK(!is_inference(), "Inference tensors do not track version counter.");
  return impl().version().current();
}

Tensor Tensor::data() const {
  impl();
  Tensor result = detached_alias(*this);
  if (!is_inference()) result.unsafeGetTensorImpl()->use_own_version_counter();
  return result;
}

void Tensor::set_data(const Tensor& new_data) const {
  SHUNT_CHECK(new_data.defined() && defined(), "set_data: undefined tensor");
  SHUNT_CHECK(new_data.key_set() - kAutogradKeys == key_set() - kAutogradKeys,
              "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: ",
              key_set(), " and ", new_data.key_set());
  SHUNT_CHECK(!requires_grad() || new_data.is_floating_point(),
              "set_data: data set to a tensor that requires gradients must be floating point, not ", new_data.scalar_type());
  // The accumulator of this leaf remembers shape and dtype; another shape needs another accumulator.
  AutogradMeta* meta = get_autograd_meta(*this);
  if (meta != nullptr && (!sizes().equals(new_data.sizes()) || scalar_type() != new_data.scalar_type())) {
    std::lock_guard lock(meta->mutex_);
    meta->grad_accumulator_.reset();
  }
  impl().shallow_copy_from(*new_data.unsafeGetTensorImpl());
}

}  // namespace shunt
