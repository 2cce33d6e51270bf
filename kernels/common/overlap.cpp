#include "kernels/common/overlap.h"

#include <shunt/core/log.h>

#include <utility>

namespace shunt::elementwise {
namespace {

/// Dense tensors of one storage whose ranges meet. For others the question is hard, and they pass, as in PyTorch.
bool overlapsPartially(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b || a.numel() == 0 || b.numel() == 0 || a.storage() != b.storage()) return false;
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return false;
  const std::byte *a_begin = a.data(), *a_end = a_begin + a.numel() * a.itemsize();
  const std::byte *b_begin = b.data(), *b_end = b_begin + b.numel() * b.itemsize();
  if (a_begin == b_begin && a_end == b_end) return a.strides() != b.strides();
  return a_begin < b_end && b_begin < a_end;
}

/// One tensor, or dense tensors with the same elements in the same order.
bool isSameMemory(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b) return true;
  if (a.numel() == 0 || b.numel() == 0 || a.storage() != b.storage() || a.data() != b.data()) return false;
  return a.numel() * a.itemsize() == b.numel() * b.itemsize() && a.is_non_overlapping_and_dense() &&
         b.is_non_overlapping_and_dense();
}

[[noreturn]] void throwOverlap(const char* op) {
  throw Error(::shunt::detail::str(
      op,
      "(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory location. Please clone() the tensor before performing the operation."));
}

bool overlapsItself(const TensorImpl& t) {
  return !t.is_non_overlapping_and_dense() && repeatsElements(t.sizes(), t.strides());
}

/// From its first byte to behind its last.
std::pair<const std::byte*, const std::byte*> extentOf(const TensorImpl& t) {
  const std::byte *begin = t.data(), *last = begin;
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    const int64_t reach = (t.sizes()[d] - 1) * t.strides()[d] * t.itemsize();
    (reach < 0 ? begin : last) += reach;
  }
  return {begin, last + t.itemsize()};
}

}  // namespace

bool areDisjoint(const TensorImpl& a, const TensorImpl& b) {
  if (a.storage() != b.storage()) return true;
  const auto [a_begin, a_end] = extentOf(a);
  const auto [b_begin, b_end] = extentOf(b);
  return a_end <= b_begin || b_end <= a_begin;
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
  if (overlapsPartially(written, read)) throwOverlap(op);
}

void assertNoOverlap(const char* op, const TensorImpl& written, const TensorImpl& read) {
  if (overlapsPartially(written, read) || isSameMemory(written, read)) throwOverlap(op);
}

}  // namespace shunt::elementwise
