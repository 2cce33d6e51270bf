// The loop tables of each instruction set, defined by generated/pointwise_loops_N.cpp and loops_*.cpp.
//
// Note [Loops per instruction set]
// These files are compiled once per instruction set. Each defines, in namespace shunt::elementwise::<baseline|v3|v4>,
// one pointer to a constant table; all its code is internal to the object, so the linker can't mix levels. Which tables
// are used is decided once, when the library is loaded, by core/isa.h. Constants only; any thread.
#pragma once

#include "kernels/pointwise/loop_types.h"

#define SHUNT_SHARD(n) extern const LoopFn* const kLoops##n;
#define SHUNT_DECLARE_LOOPS(isa)           \
  namespace shunt::elementwise::isa {      \
  SHUNT_FORALL_FUNCTOR_SHARDS(SHUNT_SHARD) \
  extern const CastFn* const kCastLoops;   \
  }
SHUNT_DECLARE_LOOPS(baseline)
SHUNT_DECLARE_LOOPS(v3)
SHUNT_DECLARE_LOOPS(v4)
#undef SHUNT_DECLARE_LOOPS
#undef SHUNT_SHARD

namespace shunt::elementwise {

/// The tables of one level, or of the active one for -1; empty where the library has no code for it. The CPU must have
/// the level before a loop is called.
SHUNT_API IsaLoops loopsOf(int isa);

}  // namespace shunt::elementwise
