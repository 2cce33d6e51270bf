#include "kernels/common/overlap.h"

#include <shunt/core/log.h>

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

bool overlapsItself(const TensorImpl& t) {
  return !t.is_non_overlapping_and_dense() && repeatsElements(t.sizes(), t.strides());
}

}  // namespace

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
  SHUNT_CHECK(
      !overlapsPartially(written, read), op,
      "(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace shunt::elementwise
