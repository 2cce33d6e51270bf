// Checks of dtypes and scalars that certain elementwise operators make before shapes are looked at. Each throws the
// error that PyTorch throws. Pure functions; any thread.
#pragma once

#include <shunt/tensor/scalar.h>
#include <shunt/tensor/scalar_type.h>

namespace shunt::checks {

/// The parts of a call that a check reads. The arrays have an entry for each of the functor's inputs and scalars.
struct CheckArgs {
  const char* op;
  const ScalarType* inputs;
  const Scalar* const* scalars;
  ScalarType common;
  const Scalar* numbers[3];  // inputs that are numbers; null for tensors
};
/// A check passes whenever every input has the common dtype, that dtype is floating-point, and no scalar is a bool.
/// Such calls may skip it.
using Check = void (*)(const CheckArgs&);

/// The alpha of add: a floating one needs a floating result, a bool one needs a bool result.
SHUNT_API void alpha(const CheckArgs&);
/// The same, and no input is bool.
SHUNT_API void subtraction(const CheckArgs&);
/// The input isn't bool.
SHUNT_API void negation(const CheckArgs&);
/// The tensors to divide aren't both integer or bool.
SHUNT_API void addcdiv(const CheckArgs&);
/// `self` and `end` have one dtype.
SHUNT_API void lerp(const CheckArgs&);
/// The same, and so has `weight`, which is a tensor.
SHUNT_API void lerpTensor(const CheckArgs&);
/// Bounds that are numbers fit the common dtype, and that dtype isn't bool.
SHUNT_API void clampNumbers(const CheckArgs&);
/// The first input isn't bool.
SHUNT_API void noBool(const CheckArgs&);

}  // namespace shunt::checks
