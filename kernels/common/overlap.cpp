#include "kernels/common/overlap.h"

#include <shunt/core/log.h>
#include <shunt/tensor/memory_overlap.h>

namespace shunt::elementwise {
namespace {

/// Of two different tensors of one storage that have elements. Where both are dense, strides count in dimensions of one
/// too, as in PyTorch.
SHUNT_NOINLINE MemoryOverlap overlapInStorage(const TensorImpl& a, const TensorImpl& b) {
  if (a.is_contiguous() && b.is_contiguous()) {  // as rows of one matrix are
    const int64_t begin = a.storage_offset() * a.itemsize(), end = begin + a.numel() * a.itemsize();
    const int64_t its_begin = b.storage_offset() * b.itemsize(), its_end = its_begin + b.numel() * b.itemsize();
    if (end <= its_begin || its_end <= begin) return MemoryOverlap::kNone;
  }
  const MemoryOverlap overlap = memory_overlap(a, b);
  if (overlap != MemoryOverlap::kSame || a.strides() == b.strides()) return overlap;
  const bool dense = a.is_non_overlapping_and_dense() && b.is_non_overlapping_and_dense();
  return dense ? MemoryOverlap::kSome : overlap;
}

MemoryOverlap overlapOf(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b) return MemoryOverlap::kSame;
  if (a.storage() != b.storage()) [[likely]]
    return MemoryOverlap::kNone;
  return overlapInStorage(a, b);
}

[[noreturn]] void throwOverlap(const char* op) {
  throw Error(::shunt::detail::str(
      op,
      "(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory location. Please clone() the tensor before performing the operation."));
}

}  // namespace

bool overlapsItself(const TensorImpl& t) {
  if (t.is_contiguous() || ::shunt::detail::isNested(t.sizes(), t.strides())) return false;
  return repeatsElements(t.sizes(), t.strides()) || internal_overlap(t.sizes(), t.strides()) != MemoryOverlap::kNone;
}

bool areDisjoint(const TensorImpl& a, const TensorImpl& b) { return memory_overlap(a, b) == MemoryOverlap::kNone; }

void assertGrowsApart(const char* op, const TensorImpl& out, int64_t numel, const TensorImpl& read) {
  if (numel == 0 || read.numel() == 0 || out.storage() != read.storage()) [[likely]]
    return;
  const int64_t begin = out.storage_offset() * out.itemsize(), end = begin + numel * out.itemsize();
  const auto [its_begin, its_end] = memory_range(read);
  if (its_begin < end && begin < its_end) throwOverlap(op);
}

void assertNoInternalOverlap(const char* op, const TensorImpl& written, Overlap kind) {
  if (kind == Overlap::kAllowed || !overlapsItself(written)) return;
  const std::string message = ::shunt::detail::str(
      op,
      "(): unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.");
  SHUNT_CHECK(kind == Overlap::kWarning, message);
  ::shunt::detail::logWarning(message);
}

void assertNoPartialOverlap(const char* op, const TensorImpl& written, const TensorImpl& read) {
  if (overlapOf(written, read) == MemoryOverlap::kSome) throwOverlap(op);
}

void assertNoOverlap(const char* op, const TensorImpl& written, const TensorImpl& read) {
  const MemoryOverlap overlap = overlapOf(written, read);
  if (overlap == MemoryOverlap::kSome || overlap == MemoryOverlap::kSame) throwOverlap(op);
}

bool mayOverlapUnseen(const TensorImpl& written, const TensorImpl& read) {
  return overlapOf(written, read) == MemoryOverlap::kUnknown;
}

}  // namespace shunt::elementwise
