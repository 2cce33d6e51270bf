// Where to find the ahead-of-time and generic loops of the dictionary's functors. Constants only; any thread.
//
// Note [Shards of functors]
// opgen spreads the functors that the dictionary names (`elementwise`, `functors`) over a fixed number of source files,
// so that compile time is spread and a new functor compiles one of them: generated/pointwise_loops_N.cpp, once per
// instruction set, and pointwise_generic_N.cpp. Each defines one table with kDtypeSlots entries for each of its
// functors, null where the functor is not defined for the dtype. generated/functors.h lists which functor is where.
#pragma once

#include "generated/functors.h"

#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

/// The loops of one instruction set.
struct IsaLoops {
  const LoopFn* pointwise[kNumFunctorShards];
  const CastFn* casts;  // [from * kDtypeSlots + to]
};

#define SHUNT_SHARD(n) extern SHUNT_API const GenericLoopFn* const kGenericLoops##n;
SHUNT_FORALL_FUNCTOR_SHARDS(SHUNT_SHARD)
#undef SHUNT_SHARD

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
