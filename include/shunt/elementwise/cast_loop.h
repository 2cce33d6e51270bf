// Cast loops: what a copy to another dtype computes, for whoever has the elements at hand and makes it without the
// operator. By Note [Casts between dtypes] (cast.h). Pure functions; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

struct CastLoop {
  CastFn run = nullptr;             // of the instruction set in use; `out` may be `in` where elements are as wide
  GenericLoopFn generic = nullptr;  // the same as what the JIT specialises, with `to` as its common dtype
};

/// Both null where elements of one of the dtypes can't be cast.
SHUNT_API CastLoop castLoopOf(ScalarType from, ScalarType to);

}  // namespace shunt::elementwise
