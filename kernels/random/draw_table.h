// The loops of random draws, a table for every instruction set: Philox blocks, and normal numbers from them.
//
// Bits are the same in each: integer arithmetic, and shunt::math. Pure functions; any thread.
#pragma once

#include "kernels/random/philox.h"

#include <shunt/core/isa.h>

namespace shunt::native {

/// Blocks that are made and used at a time.
inline constexpr int64_t kDrawBlocks = 64;

struct DrawLoops {
  /// Blocks first, first + 1, ... of a seed; count <= kDrawBlocks.
  void (*philox)(philox::Block* out, uint64_t seed, uint64_t first, int64_t count);
  /// Four normal floats from each block, two normal doubles; count <= kDrawBlocks.
  void (*normalFloat)(float* out, const philox::Block* bits, int64_t count, float mean, float std);
  void (*normalDouble)(double* out, const philox::Block* bits, int64_t count, double mean, double std);
};

namespace baseline {
extern const DrawLoops kDrawLoops;
}
namespace v3 {
extern const DrawLoops kDrawLoops;
}
namespace v4 {
extern const DrawLoops kDrawLoops;
}

inline const DrawLoops& drawLoops() {
#define SHUNT_TABLE(isa) &isa::kDrawLoops
  static constexpr const DrawLoops* kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_TABLE);
#undef SHUNT_TABLE
  return *kTables[static_cast<int>(detail::activeIsa())];
}

}  // namespace shunt::native
