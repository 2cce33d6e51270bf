// The loops of bench/direct: tables of functions that are compiled for one instruction set each, and chosen at run time
// (direct.cpp). Constant; any thread may call them.
//
// Included by sources compiled for AVX2 and AVX-512, hence without inline functions and without headers that have any:
// the linker could take such a source's copy of one for the whole program.
#pragma once

#include <stdint.h>

namespace bench::direct {

/// out[i] = op(a[i], b[i]) for each i < n. A loop by hand wants `out` aligned to a cache line.
using Loop = void (*)(float* out, const float* a, const float* b, int64_t n);

struct Loops {
  Loop add, mul, relu;
};

/// `by_hand` has null pointers where the instruction set is the baseline's.
struct IsaLoops {
  Loops plain, by_hand;
};

namespace baseline {
extern const IsaLoops kLoops;
}
namespace v3 {
extern const IsaLoops kLoops;
}
namespace v4 {
extern const IsaLoops kLoops;
}

}  // namespace bench::direct
