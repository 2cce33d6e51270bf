// linear's usual case in one step: matrices of floats or doubles with a bias, and no gradient to record.
//
// Note [Direct linear]
// linear is a composite of t and addmm. The view of the weight costs as much as a small product, and nobody sees it
// where both operators would run nothing but the library's own kernels. So linear asks at each call what calls of the
// two would run, with the keys of these operands and this thread's modes, and multiplies at once if that is their
// kernels for CPU, below wrappers of the library that have nothing to record. An override, a fallback, a mode that sees
// the parts, or a trace leads to the composite, from the next call on: nothing is remembered. So a thunk that calls
// this needs no edge on the two. The product is the one that addmm makes: same operands, same bits.
//
// Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// An undefined tensor where the composite has to do it.
SHUNT_API Tensor directLinear(const Tensor& input, const Tensor& weight, const Tensor& bias);

}  // namespace shunt::native
