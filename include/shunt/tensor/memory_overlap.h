// Memory overlap: whether two strided tensors share bytes, or two elements of one tensor share a place in memory.
//
// The answer is exact for all strides, unless the search is given up: kUnknown, for many dimensions without any order.
// Only storages, sizes, strides and offsets are read, so the tensors may be on any device. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <cstdint>
#include <utility>

namespace shunt {

/// How two tensors overlap.
enum class MemoryOverlap : uint8_t {
  kNone,     // no byte in common
  kSame,     // equal offset, itemsize, sizes and strides; dimensions of size 1 are ignored
  kSome,     // at least one byte in common, but not kSame
  kUnknown,  // the search was given up
};

/// The range of bytes in its storage that a tensor occupies, with the gaps between elements: the first byte, and the
/// one after the last. The tensor must have elements.
SHUNT_API std::pair<int64_t, int64_t> memory_range(const TensorImpl& t);

/// The overlap of two tensors, which must have storages. kNone when one of them has no elements.
SHUNT_API MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b);

/// Whether two elements of one tensor share a place in memory, as in an expanded tensor or in overlapping windows.
/// Returns kNone, kSome or kUnknown.
SHUNT_API MemoryOverlap internal_overlap(IntArrayRef sizes, IntArrayRef strides);

namespace detail {
/// Whether each stride exceeds the reach of all later dimensions, as in slices of row-major tensors. If so, no elements
/// overlap.
inline bool isNested(IntArrayRef sizes, IntArrayRef strides) {
  int64_t reach = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] <= reach) return false;
    reach += strides[d] * (sizes[d] - 1);
  }
  return true;
}
}  // namespace detail

}  // namespace shunt
