// Operators' own conditions on dtypes and scalars, which hold before shapes are looked at; each throws PyTorch's error.
// Pure functions; any thread.
#pragma once

#include <shunt/tensor/scalar.h>
#include <shunt/tensor/scalar_type.h>

namespace shunt::checks {

/// What a check sees of a call. Arrays have the functor's numbers of inputs and scalars.
struct CheckArgs {
  const char* op;
  const ScalarType* inputs;
  const Scalar* const* scalars;
  ScalarType common;
  const Scalar* numbers[3];  // inputs that are numbers; null for tensors
};
/// Passes whenever every input has the common dtype, that is a floating-point one, and no scalar is a bool: such calls
/// may leave it out.
using Check = void (*)(const CheckArgs&);

/// alpha of add: floating only for floating results, bool only for bool results.
SHUNT_API void alpha(const CheckArgs&);
/// The same, and no subtraction of bools.
SHUNT_API void subtraction(const CheckArgs&);
SHUNT_API void negation(const CheckArgs&);
/// Two integer tensors can't be divided.
SHUNT_API void addcdiv(const CheckArgs&);
/// Operands of one dtype.
SHUNT_API void lerp(const CheckArgs&);
/// The same, with the weight a tensor too.
SHUNT_API void lerpTensor(const CheckArgs&);
/// Numbers that clamp must fit the dtype, and can't clamp bools.
SHUNT_API void clampNumbers(const CheckArgs&);
/// No bool input; `op` names the operator.
SHUNT_API void noBool(const CheckArgs&);

}  // namespace shunt::checks
