// Cast loops: the loops that copy elements to another dtype, for callers that bypass the operator. They convert as in
// Note [Casts between dtypes] (cast.h). Pure functions on the caller's memory; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

/// The loops for one pair of dtypes.
struct CastLoop {
  CastFn run = nullptr;  // for the instruction set in use; `out` may be `in` if both dtypes have the same width
  GenericLoopFn generic = nullptr;  // the loop that the JIT specialises; `to` is its common dtype
};

/// Both loops are null if elements of either dtype can't be cast.
SHUNT_API CastLoop castLoopOf(ScalarType from, ScalarType to);

}  // namespace shunt::elementwise
