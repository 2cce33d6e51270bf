// Autograd kernels for operators without a derivative, named as in torch/csrc/autograd. They give the results of
// recorded calls a node whose backward throws, check and count in-place changes, and mark views as views. Any thread.
#pragma once

#include <shunt/core/library.h>

namespace shunt::autograd {

/// The kernel for Autograd. Operators that register none get the same kernel by default, except that views they return
/// may be changed in place.
SHUNT_API CppFunction autogradNotImplementedFallback();
/// The kernel for ADInplaceOrView: counts in-place changes and marks views when nothing is recorded. Throws for schemas
/// whose views it cannot follow.
SHUNT_API CppFunction autogradNotImplementedInplaceOrViewFallback();

}  // namespace shunt::autograd
