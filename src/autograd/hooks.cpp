#include "src/autograd/hooks.h"

#include "src/autograd/accumulate.h"
#include "src/autograd/plain_grad.h"

#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

namespace shunt {
namespace autograd {
namespace {

void addTensorHooks(AutogradMeta& meta) {
  meta.hooks_ = std::make_shared<TensorHooks>();
  if (!meta.grad_fn_) return;
  meta.grad_fn_->add_pre_hook([list = meta.hooks_, nr = meta.output_nr_](const variable_list& grads) {
    variable_list result = grads;
    if (result[nr].defined()) result[nr] = runHooks(*list, std::move(result[nr]));
    return result;
  });
}

// Stores what arrives at the tensor's node as its grad. Does nothing once the tensor is gone or has another history.
// One of the tensor's hooks: those registered before it have done their work, those after it have not.
void addRetainHook(const Tensor& t, AutogradMeta& meta) {
  if (!meta.hooks_) addTensorHooks(meta);
  weak_intrusive_ptr<TensorImpl> weak(t.getIntrusivePtr());
  meta.hooks_->hooks.emplace_back([weak = std::move(weak), node = meta.grad_fn_.get()](const Tensor& grad) {
    const Tensor self(weak.lock());
    AutogradMeta* now = self.defined() ? get_autograd_meta(self) : nullptr;
    if (now == nullptr || now->grad_fn_.get() != node) return Tensor();
    ActiveTrace* trace = activeTrace();
    const Tensor& before = trace != nullptr ? trace->grad(self) : now->grad_;
    Tensor after = before.defined() ? before.add(grad) : grad.clone();
    if (trace != nullptr) [[unlikely]]
      callRecorded("trace::set_grad_", {self, std::move(after)});
    else
      now->grad_ = std::move(after);
    return Tensor();
  });
}

}  // namespace

Tensor runHooks(const TensorHooks& hooks, Tensor grad) {
  for (size_t i = 0; i < hooks.hooks.size(); ++i) {  // a hook may add others
    if (!hooks.hooks[i]) continue;
    Tensor replaced = hooks.hooks[i](grad);
    if (!replaced.defined()) continue;
    makePlain(replaced, "the hook ", i, " of a tensor (register_hook) returned");
    SHUNT_CHECK(replaced.sizes().equals(grad.sizes()), "the hook ", i,
                " of a tensor (register_hook) returned a gradient of shape ", replaced.sizes(),
                ", but the gradient that it was given, and the tensor, have shape ", grad.sizes());
    SHUNT_CHECK(replaced.scalar_type() == grad.scalar_type() && replaced.device() == grad.device(), "the hook ", i,
                " of a tensor (register_hook) has changed the type of the gradient: it was given ", grad.scalar_type(),
                " on ", grad.device(), " and returned ", replaced.scalar_type(), " on ", replaced.device());
    grad = std::move(replaced);
  }
  return grad;
}

void moveHooks(const Tensor& t, AutogradMeta& meta) {
  meta.hooks_.reset();
  if (meta.retains_grad_ && meta.grad_fn_) addRetainHook(t, meta);
}

}  // namespace autograd

using namespace autograd;

void Tensor::retain_grad() const {
  SHUNT_CHECK(requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  if (forwards_graph(*this)) return graph_tensor(*this).retain_grad();
  if (!grad_fn()) return;  // of a view whose base changed: the new one gets the hook
  AutogradMeta* meta = get_autograd_meta(*this);
  if (meta->retains_grad_) return;
  meta->retains_grad_ = true;
  addRetainHook(*this, *meta);
}

bool Tensor::retains_grad() const {
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(*this));
  return meta != nullptr && meta->retains_grad_;
}

unsigned Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  SHUNT_CHECK(requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  if (forwards_graph(*this)) return graph_tensor(*this).register_hook(std::move(hook));
  grad_fn();  // of a view whose base changed: the new one gets the hook
  AutogradMeta* meta = materialize_autograd_meta(*this);
  if (!meta->hooks_) addTensorHooks(*meta);
  meta->hooks_->hooks.push_back(std::move(hook));
  return static_cast<unsigned>(meta->hooks_->hooks.size() - 1);
}

void Tensor::remove_hook(unsigned id) const {
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(*this));
  SHUNT_CHECK(meta != nullptr && meta->hooks_ && id < meta->hooks_->hooks.size(), "Invalid index, no hook at position ",
              id, " of this tensor (remove_hook)");
  meta->hooks_->hooks[id] = nullptr;
}

}  // namespace shunt
