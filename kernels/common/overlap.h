// Whether operands share memory in a way that makes a result depend on the order of elements. Pure functions; any
// thread.
#pragma once

#include <shunt/elementwise/functor.h>
#include <shunt/tensor/tensor_impl.h>

namespace shunt::elementwise {

/// Whether a dimension of stride 0 shows elements more than once, as in an expanded tensor. Doesn't look for windows
/// that overlap.
inline bool repeatsElements(IntArrayRef sizes, IntArrayRef strides) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1 && strides[d] == 0) return true;
  return false;
}

/// Whether `a` and `b`, of any layout, are known to have no byte in common.
bool areDisjoint(const TensorImpl& a, const TensorImpl& b);

/// Throws when an out= tensor that is to be resized to `numel` dense elements may then lie over `read`.
void assertGrowsApart(const char* op, const TensorImpl& out, int64_t numel, const TensorImpl& read);

/// Whether two elements are one memory location: in an expanded tensor, and in windows that overlap.
bool overlapsItself(const TensorImpl& t);

/// Throws when a written tensor overlaps itself, as `kind` says.
void assertNoInternalOverlap(const char* op, const TensorImpl& written, Overlap kind);
/// Throws when a read tensor shares some memory with the written one without being the same elements in the same order.
void assertNoPartialOverlap(const char* op, const TensorImpl& written, const TensorImpl& read);

/// Whether the tensors may overlap, and are too involved to know (memory_overlap.h): what is read is to be copied
/// first.
bool mayOverlapUnseen(const TensorImpl& written, const TensorImpl& read);

/// The same as assertNoPartialOverlap, where also tensors of the same elements in the same order share memory.
void assertNoOverlap(const char* op, const TensorImpl& written, const TensorImpl& read);

}  // namespace shunt::elementwise
