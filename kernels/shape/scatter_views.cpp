// The functional inverses of views: `self` with `src` in the place of what select, slice, diagonal or as_strided would
// show.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

namespace shunt::native {

namespace {

// The whole storage is copied: sizes, strides and offset stay, and what lies beyond `self` is there for as_strided. An
// expanded tensor can't keep them, since its elements will differ.
Tensor cloneStorage(const char* op, const Tensor& self) {
  const TensorImpl& t = implOf(self, op);
  if (elementwise::repeatsElements(t.sizes(), t.strides())) return native::clone(self, std::nullopt);
  const int64_t n = static_cast<int64_t>(t.storage()->nbytes()) / t.itemsize();
  const Tensor copy = native::clone(makeView(t, {n}, {1}, 0), std::nullopt);
  return makeView(*copy.unsafeGetTensorImpl(), t.sizes(), t.strides(), t.storage_offset());
}

/// For a part in which windows overlap: where several elements are one place, the last one in their order stays.
void copyInOrder(const TensorImpl& part, const Tensor& src) {
  const Tensor same = src.dtype() == part.dtype() ? src : ops::to_dtype::call(src, part.dtype(), false, false, {});
  const auto dims = static_cast<size_t>(part.dim());
  dispatchBySize(part.itemsize(), [&]<class T>(std::type_identity<T>) {
    forEachRunTogether<2>(part.sizes(), {walkedOf(part, dims), walkedOf(*same.unsafeGetTensorImpl(), dims)},
                          [](std::array<std::byte*, 2> at, const std::array<int64_t, 2>& strides, int64_t n) {
                            for (int64_t i = 0; i < n; ++i, at[0] += strides[0], at[1] += strides[1])
                              *reinterpret_cast<T*>(at[0]) = *reinterpret_cast<const T*>(at[1]);
                          });
  });
}

void copyInto(const char* op, const Tensor& part, const Tensor& src) {
  SHUNT_CHECK(part.sizes().equals(implOf(src, op, "src").sizes()), op,
              "(): expected src to have a size equal to the slice of "
              "self. src size = ",
              src.sizes(), ", slice size = ", part.sizes());
  const TensorImpl& impl = *part.unsafeGetTensorImpl();
  if (elementwise::repeatsElements(part.sizes(), part.strides()) || !elementwise::overlapsItself(impl))
    copyBelowAutograd(part, src);  // refuses an expanded part
  else if (hasData(impl))
    copyInOrder(impl, src);
}

}  // namespace

Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  Tensor result = cloneStorage("slice_scatter", self);
  copyInto("slice_scatter", native::slice(result, dim, start, end, step), src);
  return result;
}

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor result = cloneStorage("select_scatter", self);
  copyInto("select_scatter", native::select(result, dim, index), src);
  return result;
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor result = cloneStorage("diagonal_scatter", self);
  copyInto("diagonal_scatter", native::diagonal(result, offset, dim1, dim2), src);
  return result;
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::optional<int64_t> storage_offset) {
  Tensor result = cloneStorage("as_strided_scatter", self);
  copyInto("as_strided_scatter", native::as_strided(result, size, stride, storage_offset), src);
  return result;
}

}  // namespace shunt::native
