// Loops along dense rows and down dense columns, of any dtypes, for calls that are too small to need a plan or a second
// thread: a table for every instruction set. The interpreter and thunks call the same ones. Their order is that of
// Note [Order of reductions] (loop_table.h). Constants only; any thread.
#pragma once

#include "kernels/rows/request.h"

namespace shunt::reduce {

/// By ComputeType, then [0] along rows, [1] down columns. Null where the accumulator isn't computed in the type, or
/// doesn't scan.
struct RowLoops {
  rows::LoopFn of[4][2] = {};

  rows::LoopFn find(rows::ComputeType type, rows::Span span) const {
    return of[static_cast<int>(type)][span == rows::Span::kColumns ? 1 : 0];
  }
};

struct RowTable {
  RowLoops reductions[kNumAccumulators];
  RowLoops scans[kNumAccumulators];
  RowLoops extremes[2];  // with indices: the smallest, the largest
};

// Of float and int64_t, and of double and truth values.
#define SHUNT_DECLARE_ROWS(isa)     \
  namespace isa {                   \
  extern const RowTable kRowTable1; \
  extern const RowTable kRowTable2; \
  }
SHUNT_DECLARE_ROWS(baseline)
SHUNT_DECLARE_ROWS(v3)
SHUNT_DECLARE_ROWS(v4)
#undef SHUNT_DECLARE_ROWS

template <class A>
inline constexpr rows::ComputeType kComputeTypeOf = rows::ComputeType::kFloat;
template <>
inline constexpr rows::ComputeType kComputeTypeOf<double> = rows::ComputeType::kDouble;
template <>
inline constexpr rows::ComputeType kComputeTypeOf<int64_t> = rows::ComputeType::kLong;
template <>
inline constexpr rows::ComputeType kComputeTypeOf<uint8_t> = rows::ComputeType::kBool;

/// The table of the instruction set in use that has what is computed in the type.
const RowTable& rowTable(rows::ComputeType type);

}  // namespace shunt::reduce
