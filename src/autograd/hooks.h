// Hooks on a tensor's gradient: leaves run theirs in AccumulateGrad, other tensors hang theirs before their grad_fn.
//
// Note [Order of hooks]
// As in PyTorch: first those of the tensors that the node gave, in the order of their registration, but retain_grad's
// after them; then the node's pre-hooks, the node, its post-hooks. A run that ends at a tensor, as autograd::grad's at
// its inputs, runs the tensor's hooks and returns what they give, and none of the node's. Where it goes on from there
// to another input, it returns what had come to the tensor before its hooks.
//
// Called by the thread that may change the tensor.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

/// Adds or takes away the tensor's own Autograd key (history.cpp).
void set_autograd_key(const Tensor& t, bool on);

/// What the hooks make of the gradient, one after the other, retain_grad's last: of a wrapper that one returns, the
/// tensor inside. Throws when one returns another shape.
Tensor runHooks(const TensorHooks& hooks, Tensor grad);

/// The hooks of a node's output, as one of the node's pre-hooks: the engine calls it before those of the node itself,
/// and for nodes that don't run, as the run ends there.
struct TensorPreHook {
  std::shared_ptr<TensorHooks> hooks;
  uint32_t output_nr;

  variable_list operator()(const variable_list& grads) const;
};

/// What the hooks of the node's outputs make of what has come to it; of a leaf's node, the leaf's hooks.
variable_list runTensorHooks(Node& node, variable_list grads);

/// Calls the leaf's hooks for a grad that has been added to.
void runPostAccumulateHooks(const Tensor& leaf);

/// After the tensor got another grad_fn: its hooks stay with the old one, which they were registered for; retain_grad
/// follows to the new one.
void moveHooks(const Tensor& t, AutogradMeta& meta);

}  // namespace shunt::autograd
