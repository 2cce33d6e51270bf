// Row loops: softmax, log_softmax, their gradients and layer_norm on raw memory, for callers that bypass the operators.
//
// They work on rows of n consecutive elements. Each row is computed by itself: a few rows get the bits that they have
// in a call of all rows. Pure functions on the caller's memory; an output may be its input's memory. Any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/elementwise/loop_types.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

/// The operator that a row loop computes.
enum class RowOperator : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm, kSoftmaxBackward, kLogSoftmaxBackward };

/// The arguments of a row loop.
struct RowCall {
  std::byte* out = nullptr;  // rows x n elements, as `in`
  const std::byte* in = nullptr;
  // For layer_norm: n elements each; null if absent.
  const std::byte* weight = nullptr;
  const std::byte* bias = nullptr;
  int64_t rows = 0, n = 0;
  double eps = 0;                     // for layer_norm
  const std::byte* result = nullptr;  // for a backward: the output of the forward; `in` is its gradient
};
/// Computes all rows of the call on the calling thread.
using RowLoopFn = void (*)(const RowCall& call);

/// For Float and Double. Null for other dtypes, which the operators compute in buffers of another dtype.
SHUNT_API RowLoopFn rowLoop(RowOperator op, ScalarType dtype);

/// The pointwise loops that apply a weight, then a bias, to the rows of a layer_norm without parameters: mul, and add
/// with an alpha of one. The result has the bits of a layer_norm with parameters. Null if there is no such loop.
struct ParameterLoops {
  LoopFn weight = nullptr, bias = nullptr;
};
/// Both are null for dtypes that have no row loop.
SHUNT_API ParameterLoops parameterLoops(ScalarType dtype);

}  // namespace shunt::elementwise
