// Derived forms that compute the functional operator and copy its result (`out: copy`, `inplace: copy` in the
// dictionary).
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::wrappers {

/// Resizes `out` to the result's shape and copies, by PyTorch's rules for out=: same device and dtype. Nothing is
/// changed when it throws.
Tensor& copyToOut(const char* op, Tensor& out, const Tensor& result);
/// The same for operators whose out= may be of any dtype that the result can be cast to.
Tensor& castToOut(const char* op, Tensor& out, const Tensor& result);
/// `self` keeps shape and dtype: throws when the result has another shape or can't be cast.
Tensor& copyInplace(const char* op, Tensor& self, const Tensor& result);

}  // namespace shunt::wrappers
