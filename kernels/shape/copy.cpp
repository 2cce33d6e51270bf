// copy_: dense runs of one dtype by memcpy, everything else by the elementwise functor Copy.
#include "kernels/common/copy.h"

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/pointwise/functors/unary.h"
#include "kernels/pointwise/run.h"

#include <shunt/core/tls.h>

#include <cstring>

namespace shunt::native {

namespace {

[[noreturn]] SHUNT_COLD void throwCopySizes(IntArrayRef dst, IntArrayRef src) {
  const size_t common = std::min(dst.size(), src.size());
  for (size_t i = 1; i <= common; ++i) {
    const int64_t a = dst[dst.size() - i];
    const int64_t b = src[src.size() - i];
    if (a != b && a != 1 && b != 1)
      throw Error(detail::str("The size of tensor a (", a, ") must match the size of tensor b (", b,
                              ") at non-singleton dimension ", std::max(dst.size(), src.size()) - i,
                              " (copy_: self has sizes ", dst, ", src has sizes ", src, ")"));
  }
  throw Error(
      detail::str("copy_: output with shape ", dst, " doesn't match the broadcast shape with src of shape ", src));
}

void checkExpandable(IntArrayRef dst, IntArrayRef src) {
  bool fits = src.size() <= dst.size();
  for (size_t i = 1; fits && i <= src.size(); ++i) {
    const int64_t size = src[src.size() - i];
    fits = size == 1 || size == dst[dst.size() - i];
  }
  if (!fits) [[unlikely]]
    throwCopySizes(dst, src);
}

bool sameLayout(const TensorImpl& a, const TensorImpl& b) {
  if (a.sizes() != b.sizes()) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

// True when it is done. Ranges that overlap in part are left to the elementwise path, which refuses them, as it does
// the same elements under other strides, be it those of dimensions of size 1.
bool copyDense(const TensorImpl& dst, const TensorImpl& src) {
  if (dst.dtype() != src.dtype() || !sameLayout(dst, src)) return false;
  const auto bytes = static_cast<size_t>(dst.numel() * dst.itemsize());
  if (bytes == 0) return true;
  std::byte* to = dst.data();
  const std::byte* from = src.data();
  if (to == from && dst.storage().get() == src.storage().get()) return dst.strides() == src.strides();
  if (from < to + bytes && to < from + bytes) return false;
  std::memcpy(to, from, bytes);
  return true;
}

/// Both on the CPU, or both on Meta.
void copyOnDevice(const Tensor& dst, const Tensor& src) {
  const TensorImpl& to = implOf(dst, "copy_");
  const TensorImpl& from = implOf(src, "copy_", "src");
  if (&to == &from || (hasData(to) && copyDense(to, from))) return;
  checkExpandable(to.sizes(), from.sizes());
  Tensor out = dst;
  elementwise::runOut<functors::Copy>("copy_", out, from.sizes() == to.sizes() ? src : expand(src, to.sizes(), false));
}

}  // namespace

void denseStridesLike(IntArrayRef sizes, IntArrayRef like_strides, int64_t* strides) {
  const size_t n = sizes.size();
  SizesAndStrides order_storage;
  order_storage.resize(n);
  int64_t* order = order_storage.sizesData();  // innermost first
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(n - 1 - i);
  // Positive when a must lie outside b; zero when stride 0 leaves it open, and then the search goes on.
  const auto compare = [&](int64_t a, int64_t b) {
    const int64_t sa = like_strides[a], sb = like_strides[b];
    if (sa == 0 || sb == 0) return 0;
    if (sa != sb) return sa < sb ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  };
  for (size_t i = 1; i < n; ++i) {
    size_t moving = i;
    for (size_t j = i; j-- > 0;) {
      const int c = compare(order[j], order[moving]);
      if (c < 0) break;
      if (c == 0) continue;
      std::swap(order[j], order[moving]);
      moving = j;
    }
  }
  int64_t step = 1;
  for (size_t i = 0; i < n; ++i) {
    strides[order[i]] = step;
    if (sizes[order[i]] > 1) step *= sizes[order[i]];
  }
}

Tensor& copy_cpu_(Tensor& self, const Tensor& src, bool) {
  copyOnDevice(self, src);
  return self;
}

// Reached when either side is Meta: from Meta there is nothing to copy, into Meta only what can be checked counts. The
// index of a Meta device is that of a fake tensor's twin (src/transforms/fake/twins.h), and a copy may be between two.
Tensor& copy_meta_(Tensor& self, const Tensor& src, bool) {
  const TensorImpl& to = implOf(self, "copy_");
  const TensorImpl& from = implOf(src, "copy_", "src");
  if (!to.device().is_meta()) throw NotImplementedError("Cannot copy out of meta tensor; no data!");
  if (from.device() == to.device()) {
    copyOnDevice(self, src);
  } else {
    checkExpandable(to.sizes(), from.sizes());
    elementwise::assertNoInternalOverlap("copy_", to, Overlap::kError);
  }
  return self;
}

void copyBelowAutograd(const Tensor& dst, const Tensor& src) {
  if (dst.is_cpu() && src.is_cpu()) return copyOnDevice(dst, src);
  Tensor handle = dst;
  if (dst.is_meta() || (dst.is_cpu() && src.is_meta())) return (void)copy_meta_(handle, src, false);
  AutoDispatchBelowAutograd guard;
  handle.copy_(src);
}

}  // namespace shunt::native
