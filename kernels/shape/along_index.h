// What gather and the scatters share: elements of one dimension, chosen position by position by an index.
//
// All run along the index, with three operands: the index, the side that the index points into ("table"), and the side
// that has an element for each position of the index. In `dim` the table's place is the index's element; in all other
// dimensions it is the position. Positions that point to one element differ in `dim` only, and row-major order visits
// them from the first to the last, so the last one stays and sums have one order.
//
// Functions of their arguments; any thread.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

namespace shunt::native::along_index {

/// A tensor without dimensions counts as one dimension of size 1.
inline int64_t dimsAtLeastOne(const TensorImpl& t) { return t.dim() == 0 ? 1 : t.dim(); }
inline int64_t sizeAt(const TensorImpl& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[static_cast<size_t>(d)]; }

/// Whether the index fits into `t` in all dimensions but `free` (-1: in all).
inline bool fits(const TensorImpl& index, const TensorImpl& t, int64_t free) {
  for (int64_t d = 0; d < dimsAtLeastOne(index); ++d)
    if (d != free && sizeAt(index, d) > sizeAt(t, d)) return false;
  return true;
}

inline void checkIndexType(const char* op, const TensorImpl& index) {
  SHUNT_CHECK(index.numel() == 0 || index.dtype() == kLong || index.dtype() == kInt, op,
              "(): Expected dtype int32/int64 for index, but got ", index.dtype());
}

/// `src` is null for a number.
inline void checkScatter(const char* op, const TensorImpl& self, int64_t dim, const TensorImpl& index,
                         const TensorImpl* src) {
  checkIndexType(op, index);
  SHUNT_CHECK(!src || src->dtype() == self.dtype(), op, "(): Expected self.dtype to be equal to src.dtype, but got ",
              self.dtype(), " and ", src ? src->dtype() : self.dtype());
  if (index.numel() == 0) return;
  SHUNT_CHECK(dimsAtLeastOne(self) == dimsAtLeastOne(index), op,
              "(): Index tensor must have the same number of dimensions as self tensor, but got ", index.sizes(),
              " and ", self.sizes());
  SHUNT_CHECK(!src || dimsAtLeastOne(*src) == dimsAtLeastOne(index), op,
              "(): Index tensor must have the same number of dimensions as src tensor, but got ", index.sizes(),
              " and ", src ? src->sizes() : self.sizes());
  if (fits(index, self, dim) && (!src || fits(index, *src, -1))) return;
  const std::string side = src ? detail::str(" and to be smaller size than src ", src->sizes()) : "";
  throw Error(detail::str(op, "(): Expected index ", index.sizes(), " to be smaller than self ", self.sizes(),
                          " apart from dimension ", dim, side));
}

/// Before anything is written. No IndexError, as in PyTorch.
inline void checkBounds(const char* op, const TensorImpl& index, int64_t dim, int64_t size) {
  const auto check = [&](int64_t i) {
    SHUNT_CHECK(i >= 0 && i < size, op, "(): index ", i, " is out of bounds for dimension ", dim, " with size ", size);
  };
  if (index.dtype() == kLong)
    forEachElement<int64_t>(index, check);
  else
    forEachElement<int32_t>(index, check);
}

/// f(element of the table, element of the other side) for each position of the index. T is of the elements' size.
template <class T, class F>
inline void alongIndex(const TensorImpl& index, int64_t dim, const TensorImpl& table, const TensorImpl& other, F&& f) {
  const auto dims = static_cast<size_t>(dimsAtLeastOne(index)), d = static_cast<size_t>(dim);
  const int64_t whole = 1;
  const bool is_long = index.dtype() == kLong;
  Walked fixed = walkedOf(table, dims);
  const int64_t step = fixed.strides[d];
  fixed.strides[d] = 0;
  forEachRunTogether<3>(index.dim() == 0 ? IntArrayRef(&whole, 1) : index.sizes(),
                        {walkedOf(index, dims), fixed, walkedOf(other, dims)},
                        [&](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
                          for (int64_t i = 0; i < n; ++i) {
                            const int64_t k = is_long ? *reinterpret_cast<const int64_t*>(at[0])
                                                      : *reinterpret_cast<const int32_t*>(at[0]);
                            f(*reinterpret_cast<T*>(at[1] + k * step), *reinterpret_cast<T*>(at[2]));
                            for (size_t o = 0; o < 3; ++o) at[o] += strides[o];
                          }
                        });
}

/// Where a scatter writes: the arguments of the three forms.
struct Target {
  const char* op;
  const Tensor& self;
  int64_t dim;
  const Tensor& index;
};

/// Checks all but out=; the dimension counted from the front.
inline int64_t checkedDim(const Target& t, const Tensor* src) {
  const TensorImpl& to = implOf(t.self, t.op);
  const TensorImpl& at = implOf(t.index, t.op, "index");
  const TensorImpl* from = src ? &implOf(*src, t.op, "src") : nullptr;
  const int64_t dim = maybe_wrap_dim(t.dim, to.dim());
  checkScatter(t.op, to, dim, at, from);
  return dim;
}

inline void checkWritten(const Target& t, const Tensor& written, const Tensor* src) {
  const TensorImpl& to = *written.unsafeGetTensorImpl();
  elementwise::assertNoInternalOverlap(t.op, to, Overlap::kError);
  elementwise::assertNoOverlap(t.op, to, *t.index.unsafeGetTensorImpl());
  if (src) elementwise::assertNoOverlap(t.op, to, *src->unsafeGetTensorImpl());
}

/// out= with the elements of `self`, before the scatter.
inline void prepareOut(const Target& t, const Tensor* src, Tensor& out) {
  SHUNT_CHECK(implOf(out, t.op, "out").dtype() == t.self.dtype(), t.op, "(): Expected out tensor to have dtype ",
              t.self.dtype(), ", but got ", out.dtype(), " instead");
  checkWritten(t, out, src);
  resizeOutputApart(t.op, out, t.self.sizes(), {&t.self, &t.index, src != nullptr ? src : &t.self});
  if (!out.is_same(t.self)) copyBelowAutograd(out, t.self);
}

/// The number as a source of which all elements are one. Throws where it does not fit the dtype.
inline Tensor sourceOf(const Target& t, const Scalar& value) {
  const TensorImpl& self = *t.self.unsafeGetTensorImpl();
  Tensor source = newResult(self, {}, self.dtype());
  if (t.index.numel() != 0) fillBelowAutograd(source, value);
  return source;
}

}  // namespace shunt::native::along_index
