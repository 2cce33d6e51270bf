// Whether elements of strided tensors lie in one place of memory: of two tensors, or of one that shows a place twice.
//
// Exact for all strides, but for tensors of so many dimensions without any order that the search is given up: kUnknown.
// Looks at storages, sizes, strides and offsets, never at elements, so tensors of any device may be asked. Pure
// functions; any thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <cstdint>
#include <utility>

namespace shunt {

enum class MemoryOverlap : uint8_t {
  kNone,     // no byte in common
  kSame,     // the same elements in the same order: sizes and strides but for dimensions of one, offset, bytes each
  kSome,     // at least one byte in common, of other elements or in another order
  kUnknown,  // the search was given up
};

/// The bytes of its storage that a tensor lies in, gaps between elements included: the first, and the one behind the
/// last. Of a tensor with elements.
SHUNT_API std::pair<int64_t, int64_t> memory_range(const TensorImpl& t);

/// Of tensors with storages. kNone where one of them has no elements.
SHUNT_API MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b);

/// Whether two elements of one tensor are one place in memory, as in an expanded one, and in windows that overlap:
/// kNone, kSome or kUnknown.
SHUNT_API MemoryOverlap internal_overlap(IntArrayRef sizes, IntArrayRef strides);

namespace detail {
/// Whether each stride leads beyond all that the dimensions behind it reach, as in slices of row-major tensors: then
/// nothing overlaps.
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
