// Autograd kernels for operators without a derivative, as torch/csrc/autograd has them: results of recorded calls get a
// node whose backward throws, changes in place are checked and counted, views are known as views. Any thread.
#pragma once

#include <shunt/core/library.h>

namespace shunt::autograd {

/// For Autograd. Without it such operators have the same kernel, but that a view they return may be changed in place.
SHUNT_API CppFunction autogradNotImplementedFallback();
/// For ADInplaceOrView: refuses schemas whose views can't be followed, and passes the call on.
SHUNT_API CppFunction autogradNotImplementedInplaceOrViewFallback();

}  // namespace shunt::autograd
