// The entries of softmax, log_softmax and their gradients, and what a thunk puts in their place
// (kernels/rows/expected.h). Tensors are the caller's, checked, `out` contiguous and of the result's dtype. Any thread.
#pragma once

#include "kernels/nn/softmax_table.h"
#include "kernels/rows/expected.h"

namespace shunt::nn {

SHUNT_NOINLINE void softmax(const Tensor& self, int64_t dim, const Tensor& out, bool log);
SHUNT_NOINLINE void softmaxBackward(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log);

/// The same, with the expected loop along rows or down columns where the operands are the expected ones.
void softmaxExpected(const Tensor& self, int64_t dim, const Tensor& out, bool log);
void softmaxBackwardExpected(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log);

/// Where they send other operands: the entries, which may record them.
SHUNT_NOINLINE void softmaxMissed(const Tensor& self, int64_t dim, const Tensor& out, bool log, jit::MissCount* misses);
SHUNT_NOINLINE void softmaxBackwardMissed(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out,
                                          bool log, jit::MissCount* misses);

/// Of a record: which softmax, and whether down columns.
SHUNT_ALWAYS_INLINE constexpr uint64_t idOf(bool log, bool columns) { return uint64_t{log} | uint64_t{columns} << 1; }
SHUNT_ALWAYS_INLINE constexpr bool isDownColumns(uint64_t id) { return (id & 2) != 0; }

/// Whether the loop of whole calls is made for it. For longer rows the interpreter's is as good; few columns, and those
/// of 16-bit types, it gathers.
SHUNT_ALWAYS_INLINE bool fits(const rows::Shape& shape, uint64_t id, ScalarType dtype) {
  if (!shape.worthLoop()) return false;
  if (!isDownColumns(id)) return shape.inner == 1 && shape.n <= kGroup;
  return shape.inner >= kMinColumns && (dtype == kFloat || dtype == kDouble);
}

/// Loops of whole calls, of tensors whose elements are computed in float and in double. [1]: the logarithm.
struct SoftmaxCalls {
  rows::LoopFn forward[2], forward_double[2], backward[2], backward_double[2];
};
#define SHUNT_DECLARE_CALLS(isa)           \
  namespace isa {                          \
  extern const SoftmaxCalls kSoftmaxCalls; \
  }
SHUNT_DECLARE_CALLS(baseline)
SHUNT_DECLARE_CALLS(v3)
SHUNT_DECLARE_CALLS(v4)
#undef SHUNT_DECLARE_CALLS
/// Those of the instruction set in use.
rows::LoopFn softmaxCall(ScalarType dtype, bool log);
rows::LoopFn softmaxBackwardCall(ScalarType dtype, bool log);

}  // namespace shunt::nn
