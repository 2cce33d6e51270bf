// The loops that reductions are made of, one table for every instruction set, and the choice of the one in use.
//
// Note [Order of reductions]
// A reduction's result depends on the elements and on the tensor's layout alone: not on the instruction set, not on the
// number of threads. Elements are loaded into an accumulator type (float for the 16-bit types, int64_t for integers,
// uint8_t 0/1 for truth values); then
//   along one output's elements: element i of a block of kBlock goes to lane i % 64 (16 lanes x 4 accumulators; a
//     last group of less than 16 in pieces of 8, 4, 2, 1), lanes are joined by a fixed tree, blocks of a chunk of
//     kChunk and then chunks pairwise like the digits of a binary counter;
//   across columns: rows in groups of 8 by a tree, groups in order within kRowBlock, then blocks, then
//     chunks, in order.
// Threads share whole chunks, or outputs. There are no flags that would let the compiler reassociate.
//
// Terms of an accumulator (accumulators.h) are joined in this order. Where they are relative to a Pivot, each block
// (along) or each kRowBlock of rows (across) first finds its own in the same order; blocks are then merged as above.
// Scans have a simpler order: one element after the other.
//
// Constants only; any thread.
#pragma once

#include "generated/accumulators.h"
#include "kernels/rows/accumulators.h"

#include <shunt/core/isa.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::reduce {

inline constexpr int64_t kBlock = 4096;
inline constexpr int64_t kChunk = 8 * kBlock;
inline constexpr int64_t kColumnTile = 512;
inline constexpr int64_t kRowBlock = 256;

/// The loops of one accumulator (accumulators.h); A is the type that it is computed in. Pointers are null where the
/// accumulator isn't computed in A, or has nothing to do.
template <class A>
struct ReductionLoops {
  A identity;  // what no terms come to
  int pivot;   // the accumulator that makes pivots; negative: none
  /// The terms of n <= kBlock consecutive elements, joined; the identity for 0.
  A (*block)(const A* x, int64_t n, A pivot, A number);
  /// dst[j] = the term of x[j], which may be the same memory. Null where elements are their terms.
  void (*terms)(A* dst, const A* x, const A* pivots, int64_t n, A number);
  /// acc[j] = acc[j] op tree(rows[0][j] .. rows[7][j]), of terms.
  void (*rows8)(A* acc, const A* const* rows, int64_t cols);
  void (*row1)(A* acc, const A* row, int64_t cols);
  /// Joins what `count` and `count2` elements came to. Null without pivots, where row1 does it.
  void (*merge)(A* values, A* pivots, A count, const A* values2, const A* pivots2, A count2, int64_t n);
  /// Results from values.
  void (*finish)(A* values, const A* pivots, A count, A number, int64_t n);
};

template <class A>
struct ReductionTable {
  ReductionLoops<A> of[kNumAccumulators];
};

template <class A>
struct ConvertLoops {
  /// dst[i] = cast<A>(src[i * stride]); a truth value (src != 0) where A is uint8_t.
  void (*load[kNumScalarTypes])(A* dst, const std::byte* src, int64_t stride, int64_t n);
  /// dst[i * stride] = cast<T>(src[i]).
  void (*store[kNumScalarTypes])(std::byte* dst, const A* src, int64_t stride, int64_t n);
};

template <class A>
struct ArgLoops {
  /// The first i with x[i] == value, or with a NaN if value is one; n where there is none.
  int64_t (*find)(const A* x, int64_t n, A value);
  /// Where row[j] beats best[j] (NaN beats every number): best[j] = row[j], index[j] = r. [0]: maximum, [1]: minimum.
  void (*row[2])(A* best, int64_t* index, const A* row, int64_t r, int64_t cols);
};

template <template <class> class Loops>
struct PerAccumulator {
  Loops<float> f;
  Loops<double> d;
  Loops<int64_t> i;
  Loops<uint8_t> b;

  template <class A>
  const Loops<A>& get() const {
    if constexpr (std::is_same_v<A, float>)
      return f;
    else if constexpr (std::is_same_v<A, double>)
      return d;
    else if constexpr (std::is_same_v<A, int64_t>)
      return i;
    else
      return b;
  }
};

struct LoopTable {
  const PerAccumulator<ReductionTable>* reductions;
  const PerAccumulator<ConvertLoops>* converts;
  const PerAccumulator<ArgLoops>* args;
};

/// The number of an accumulator.
template <class Acc>
inline constexpr int kIndexOf = -1;
#define SHUNT_ACCUMULATOR(name, index) \
  template <>                          \
  inline constexpr int kIndexOf<accumulators::name> = index;
SHUNT_FORALL_ACCUMULATORS(SHUNT_ACCUMULATOR)
#undef SHUNT_ACCUMULATOR

/// What compiles only for an accumulator of the dictionary that has all its parts.
template <class Acc>
constexpr int indexOf() {
  static_assert(isComplete<Acc>());
  static_assert(kIndexOf<Acc> >= 0,
                "no entry of the dictionary names the accumulator (`reduction` or `accumulators` in "
                "kernels/operators), so it would have no loops");
  return kIndexOf<Acc>;
}

/// The table of the instruction set in use.
const LoopTable& loopTable();

template <class A>
const ReductionLoops<A>& reductionLoops(int accumulator) {
  return loopTable().reductions->get<A>().of[accumulator];
}
template <class A>
const ConvertLoops<A>& convertLoops() {
  return loopTable().converts->get<A>();
}
template <class A>
const ArgLoops<A>& argLoops() {
  return loopTable().args->get<A>();
}

// Defined once per instruction set.
#define SHUNT_DECLARE_LOOPS(isa)                           \
  namespace isa {                                          \
  extern const PerAccumulator<ReductionTable> kReductions; \
  extern const PerAccumulator<ConvertLoops> kConvertLoops; \
  extern const PerAccumulator<ArgLoops> kArgLoops;         \
  }
SHUNT_DECLARE_LOOPS(baseline)
SHUNT_DECLARE_LOOPS(v3)
SHUNT_DECLARE_LOOPS(v4)
#undef SHUNT_DECLARE_LOOPS

}  // namespace shunt::reduce
