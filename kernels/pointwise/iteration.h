// Iteration: operands, dimensions and loop of one elementwise call, ready to run; and its execution.
//
// Strided operands and operands of other dtypes go through buffers of kChunk elements: gathered, cast to the loop's
// dtype, computed, cast and scattered. So there is one loop per functor and dtype, and every layout gives the same
// bits. The memory belongs to the caller. Chunks of at least kDefaultGrain elements may run on other threads.
#pragma once

#include "kernels/pointwise/loop_types.h"

namespace shunt::elementwise {

inline constexpr int kMaxDims = 64;
inline constexpr int kMaxOperands = 1 + kMaxInputs;
/// Elements that are gathered at a time.
inline constexpr int64_t kChunk = 256;

struct Iteration {
  int num_operands;  // operand 0 is the output
  int ndim;          // at least 1; adjacent dimensions are merged where all operands allow it
  int64_t numel;
  int64_t shape[kMaxDims];                  // fastest dimension first
  int64_t strides[kMaxOperands][kMaxDims];  // bytes
  std::byte* data[kMaxOperands];
  ScalarType dtypes[kMaxOperands];       // in memory
  ScalarType loop_dtypes[kMaxOperands];  // as the loop wants them
  LoopFn loop;
  const ScalarSlot* scalars;
  bool is_copy;
  bool streamed = false;  // see stream.h
};

/// The operands' addresses at the beginning of each plane of the two fastest dimensions, one after another.
struct PlanePosition {
  explicit PlanePosition(const Iteration& iteration);
  /// False: that was the last one.
  bool nextPlane();

  const Iteration& it;
  std::byte* p[kMaxOperands];
  int64_t coords[kMaxDims];
};

/// `n` elements of `itemsize` bytes from every `stride` bytes to consecutive ones, and back.
SHUNT_NOINLINE void gather(std::byte* dst, const std::byte* src, int64_t stride, int64_t n, int64_t itemsize);
SHUNT_NOINLINE void scatter(std::byte* dst, const std::byte* src, int64_t stride, int64_t n, int64_t itemsize);

/// Runs the loop over all elements. With `store` false, only looks for invalid elements and leaves the output as it is.
/// Returns false when an element was invalid.
bool execute(const Iteration& it, bool store = true);

/// A loop over consecutive elements: `sizes[0]` bytes an element of the output, `sizes[1 + i]` of input i (0:
/// repeated). `streamed`: see stream.h.
bool executeContiguous(LoopFn loop, std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                       const ScalarSlot* scalars, const int64_t* sizes, int num_inputs, bool streamed);

}  // namespace shunt::elementwise
