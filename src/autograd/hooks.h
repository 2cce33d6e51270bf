// Hooks on a tensor's gradient: leaves run theirs in AccumulateGrad, other tensors hang theirs before their grad_fn.
//
// Called by the thread that may change the tensor.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

/// Adds or takes away the tensor's own Autograd key (history.cpp).
void set_autograd_key(const Tensor& t, bool on);

/// What the hooks make of the gradient, one after the other: of a wrapper that one returns, the tensor inside. Throws
/// when one returns another shape.
Tensor runHooks(const TensorHooks& hooks, Tensor grad);

/// After the tensor got another grad_fn: its hooks stay with the old one, which they were registered for; retain_grad
/// follows to the new one.
void moveHooks(const Tensor& t, AutogradMeta& meta);

}  // namespace shunt::autograd
