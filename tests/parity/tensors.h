// Random tensors: shapes, layouts in memory, contents. Pure functions of the Rng.
#pragma once

#include "tests/parity/case.h"
#include "tests/parity/random.h"

namespace parity {

/// What a tensor's elements may be.
enum class Data : uint8_t {
  kSmallIntegers,  // -4..4: sums and products are exact
  kReal,           // moderate numbers with full mantissas; -100..100 for integers
  kWide,           // magnitudes from 1e-8 to 1e8
  kSpecial,        // NaN, infinities, -0, denormals, the dtype's extremes among ordinary ones
  kNonFinite,      // the same without extremes: sums don't overflow
  kNonNegative,    // 0..100, representable in every dtype
  kUnitInterval,   // [0, 1]
};

/// 0 to 5 dimensions, few elements; now and then empty, now and then long enough for vector loops.
std::vector<int64_t> drawShape(Rng& rng, int64_t max_dim = 5);
/// A shape that broadcasts with `full` to `full`.
std::vector<int64_t> drawBroadcastable(Rng& rng, const std::vector<int64_t>& full);
int64_t numelOf(const std::vector<int64_t>& sizes);

/// Adds a tensor over a storage of its own to the case and returns its index. Layouts: contiguous, permuted, stepped,
/// expanded (unless `writable`), channels last, with and without an offset.
int64_t addTensor(Rng& rng, Case& c, int dtype, const std::vector<int64_t>& sizes, Data data, bool writable = false);
/// As above with integers in [lo, hi], contiguous or stepped.
int64_t addIntegers(Rng& rng, Case& c, int dtype, const std::vector<int64_t>& sizes, int64_t lo, int64_t hi);

double drawNumber(Rng& rng, int dtype, Data data);

}  // namespace parity
