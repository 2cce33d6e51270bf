// Type promotion of elementwise operators: torch.result_type. Pure functions; any thread.
//
// Note [Categories of operands]
// Tensors with dimensions decide first, then 0-dim tensors, then numbers. A lower class counts only when it is of a
// higher category (bool < integer < floating) than all before it. A floating-point number stands for the default dtype.
#pragma once

#include "kernels/pointwise/run.h"

namespace shunt::elementwise {

/// The dtype of a tensor, or the type of a number.
inline ScalarType dtypeOf(const Argument& a) { return a.tensor != nullptr ? a.tensor->dtype() : a.number->type(); }

inline bool hasNumber(const Request& request) {
  for (int i = 0; i < request.op.num_inputs; ++i)
    if (request.inputs[i].number != nullptr) return true;
  return false;
}

/// The common dtype of a request, the forced one if there is one, whose inputs are all defined; masks don't count.
ScalarType commonDtype(const Request& request);

/// Runs the operator's own check, if it has one. `dtypes` has one for each input.
void runCheck(const Request& request, const ScalarType* dtypes, ScalarType common);

/// `number` cast to dtype, as a wrapped tensor would be.
void storeNumber(const Scalar& number, ScalarType dtype, ScalarSlot& slot);

/// `scalar` in the compute type of `common`; throws when an integer type can't hold it.
void storeScalar(const Scalar& scalar, ScalarType common, ScalarSlot& slot);

}  // namespace shunt::elementwise
