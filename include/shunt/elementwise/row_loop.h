// Row loops: what operators along rows compute, for whoever has some rows at hand and runs them without the operator.
//
// Rows of n consecutive elements, each on its own: some rows of a call have the bits that all of them would have. Pure
// functions on the caller's memory; an output may be its input's memory. Any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/elementwise/loop_types.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

enum class RowOperator : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm, kSoftmaxBackward, kLogSoftmaxBackward };

struct RowCall {
  std::byte* out = nullptr;
  const std::byte* in = nullptr;
  // Of layer_norm, of n elements; null where there are none.
  const std::byte* weight = nullptr;
  const std::byte* bias = nullptr;
  int64_t rows = 0, n = 0;
  double eps = 0;
  const std::byte* result = nullptr;  // of a backward: what the forward gave; `in` is its gradient
};
using RowLoopFn = void (*)(const RowCall& call);

/// Null where the operator computes this dtype in buffers of another one.
SHUNT_API RowLoopFn rowLoop(RowOperator op, ScalarType dtype);

/// The pointwise loops that do to the rows of layer_norm without parameters what it does itself with a weight, and then
/// with a bias, to the bit: mul, and add with an alpha of one. Null where there is no such loop.
struct ParameterLoops {
  LoopFn weight = nullptr, bias = nullptr;
};
SHUNT_API ParameterLoops parameterLoops(ScalarType dtype);

}  // namespace shunt::elementwise
