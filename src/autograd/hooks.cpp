#include "src/autograd/hooks.h"

#include "src/autograd/accumulate.h"
#include "src/autograd/plain_grad.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>
#include <shunt/tensor/asked.h>

namespace shunt {
namespace autograd {
namespace {

void addTensorHooks(AutogradMeta& meta) {
  meta.hooks_ = std::make_shared<TensorHooks>();
  if (meta.grad_fn_) meta.grad_fn_->add_pre_hook(TensorPreHook{meta.hooks_, meta.output_nr_});
}

// Stores what arrives at the tensor's node as its grad. Does nothing once the tensor is gone or has another history.
struct RetainGradHook {
  weak_intrusive_ptr<TensorImpl> tensor;
  const Node* node;

  Tensor operator()(const Tensor& grad) const {
    const Tensor self(tensor.lock());
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
  }
};

void addRetainHook(const Tensor& t, AutogradMeta& meta) {
  if (!meta.hooks_) addTensorHooks(meta);
  meta.hooks_->hooks.add(RetainGradHook{weak_intrusive_ptr<TensorImpl>(t.getIntrusivePtr()), meta.grad_fn_.get()});
}

}  // namespace

Tensor runHooks(const TensorHooks& hooks, Tensor grad) {
  bool retains = false;
  hooks.hooks.forEach([&](const auto& hook, unsigned i) {
    if (hook.template target<RetainGradHook>() != nullptr) {
      retains = true;
      return;
    }
    Tensor replaced = hook(grad);
    if (!replaced.defined()) return;
    makePlain(replaced, "the hook ", i, " of a tensor (register_hook) returned");
    SHUNT_CHECK(replaced.sizes().equals(grad.sizes()), "the hook ", i,
                " of a tensor (register_hook) returned a gradient of shape ", replaced.sizes(),
                ", but the gradient that it was given, and the tensor, have shape ", grad.sizes());
    SHUNT_CHECK(replaced.scalar_type() == grad.scalar_type() && replaced.device() == grad.device(), "the hook ", i,
                " of a tensor (register_hook) has changed the type of the gradient: it was given ", grad.scalar_type(),
                " on ", grad.device(), " and returned ", replaced.scalar_type(), " on ", replaced.device());
    grad = std::move(replaced);
  });
  if (retains)
    hooks.hooks.forEach([&](const auto& hook, unsigned) {
      if (const auto* retain = hook.template target<RetainGradHook>()) (*retain)(grad);
    });
  return grad;
}

variable_list TensorPreHook::operator()(const variable_list& grads) const {
  variable_list result = grads;
  if (result[output_nr].defined()) result[output_nr] = runHooks(*hooks, std::move(result[output_nr]));
  return result;
}

variable_list runTensorHooks(Node& node, variable_list grads) {
  if (const auto* leaf = dynamic_cast<const AccumulateGrad*>(&node)) {
    const AutogradMeta* meta = get_autograd_meta(leaf->variable);
    if (meta->hooks_ && grads[0].defined()) grads[0] = runHooks(*meta->hooks_, std::move(grads[0]));
    return grads;
  }
  const NodeHooks* hooks = node.hooks();
  if (hooks == nullptr) return grads;
  const int64_t only = node.hooked_input();
  hooks->pre.forEach([&](const PreHook& hook, unsigned) {
    const auto* of_tensor = hook.target<TensorPreHook>();
    if (of_tensor == nullptr) return;
    if (only < 0) {
      grads = (*of_tensor)(grads);
      return;
    }
    Tensor& its = grads[static_cast<size_t>(only)];
    const variable_list list = {std::move(its)};
    its = std::move((*of_tensor)(list).at(0));
  });
  return grads;
}

void runPostAccumulateHooks(const Tensor& leaf) {
  const std::shared_ptr<TensorHooks> hooks = get_autograd_meta(leaf)->hooks_;
  if (hooks) hooks->post_accumulate.forEach([&](const auto& hook, unsigned) { hook(leaf); });
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
  shunt::detail::noteIdentityAsked(*this, "retains_grad()");
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(*this));
  return meta != nullptr && meta->retains_grad_;
}

unsigned Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  SHUNT_CHECK(requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  if (forwards_graph(*this)) return graph_tensor(*this).register_hook(std::move(hook));
  grad_fn();  // of a view whose base changed: the new one gets the hook
  AutogradMeta* meta = materialize_autograd_meta(*this);
  if (!meta->hooks_) addTensorHooks(*meta);
  return meta->hooks_->hooks.add(std::move(hook));
}

void Tensor::remove_hook(unsigned id) const {
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(*this));
  const bool was_there = meta != nullptr && meta->hooks_ && meta->hooks_->hooks.remove(id);
  SHUNT_CHECK(was_there, "Invalid index, no hook at position ", id, " of this tensor (remove_hook)");
}

unsigned Tensor::register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const {
  SHUNT_CHECK(requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  if (forwards_graph(*this)) return graph_tensor(*this).register_post_accumulate_grad_hook(std::move(hook));
  SHUNT_CHECK(!grad_fn(), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  AutogradMeta* meta = materialize_autograd_meta(*this);
  if (!meta->hooks_) addTensorHooks(*meta);
  return meta->hooks_->post_accumulate.add(std::move(hook));
}

void Tensor::remove_post_accumulate_grad_hook(unsigned id) const {
  const AutogradMeta* meta = get_autograd_meta(graph_tensor(*this));
  const bool was_there = meta != nullptr && meta->hooks_ && meta->hooks_->post_accumulate.remove(id);
  SHUNT_CHECK(was_there, "Invalid index, no hook at position ", id,
              " of this tensor (remove_post_accumulate_grad_hook)");
}

}  // namespace shunt
