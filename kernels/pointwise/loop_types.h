// Where to find the ahead-of-time and generic loops of the dictionary's operators. Constants only; any thread.
#pragma once

#include "kernels/pointwise/families.h"

#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

/// The loops of one instruction set. A family's table has kDtypeSlots entries for each of its functors, in the order of
/// its TypeList; null where the functor is not defined for the dtype.
struct IsaLoops {
#define SHUNT_FAMILY(name) const LoopFn* name;
  SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY
  const CastFn* casts;  // [from * kDtypeSlots + to]
};

/// The generic loops of a family: kDtypeSlots entries for each functor, by the common dtype.
#define SHUNT_FAMILY(name) extern SHUNT_API const GenericLoopFn* const k##name##GenericLoops;
SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY

namespace detail {
extern IsaLoops active_loops;  // use activeLoops()
SHUNT_COLD void selectLoops();
}  // namespace detail

/// The tables of the active instruction set (core/isa.h), chosen when the library is loaded.
SHUNT_ALWAYS_INLINE const IsaLoops& activeLoops() {
  if (detail::active_loops.casts == nullptr) [[unlikely]]
    detail::selectLoops();
  return detail::active_loops;
}

}  // namespace shunt::elementwise
