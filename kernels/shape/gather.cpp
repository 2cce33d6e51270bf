// gather, scatter, scatter_add and take_along_dim: elements of one dimension, chosen position by position by an index.
//
// All run along the index, with three operands: the index, the side that the index points into ("table"), and the side
// that has an element for each position of the index. In `dim` the table's place is the index's element; in all other
// dimensions it is the position. Positions that point to one element differ in `dim` only, and row-major order visits
// them from the first to the last, so the last one stays and sums have one order.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"
#include "kernels/shape/add_element.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

namespace shunt::native {
namespace {

/// A tensor without dimensions counts as one dimension of size 1.
int64_t dimsAtLeastOne(const TensorImpl& t) { return t.dim() == 0 ? 1 : t.dim(); }
int64_t sizeAt(const TensorImpl& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[static_cast<size_t>(d)]; }

/// Whether the index fits into `t` in all dimensions but `free` (-1: in all).
bool fits(const TensorImpl& index, const TensorImpl& t, int64_t free) {
  for (int64_t d = 0; d < dimsAtLeastOne(index); ++d)
    if (d != free && sizeAt(index, d) > sizeAt(t, d)) return false;
  return true;
}

void checkIndexType(const char* op, const TensorImpl& index) {
  SHUNT_CHECK(index.numel() == 0 || index.dtype() == kLong, op, "(): Expected dtype int64 for index, but got ",
              index.dtype());
}

/// An empty index fits everything.
void checkGather(const TensorImpl& self, int64_t dim, const TensorImpl& index) {
  checkIndexType("gather", index);
  if (index.numel() == 0) return;
  SHUNT_CHECK(dimsAtLeastOne(self) == dimsAtLeastOne(index),
              "gather(): Index tensor must have the same number of dimensions as input tensor, but got ", index.sizes(),
              " and ", self.sizes());
  for (int64_t d = 0; d < dimsAtLeastOne(self); ++d)
    SHUNT_CHECK(d == dim || sizeAt(index, d) <= sizeAt(self, d), "gather(): Size does not match at dimension ", d,
                " expected index ", index.sizes(), " to be smaller than self ", self.sizes(), " apart from dimension ",
                dim);
}

/// `src` is null for a number.
void checkScatter(const char* op, const TensorImpl& self, int64_t dim, const TensorImpl& index, const TensorImpl* src) {
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

/// Before anything is written.
void checkBounds(const char* op, const TensorImpl& index, int64_t dim, int64_t size) {
  forEachElement<int64_t>(index, [&](int64_t i) {
    SHUNT_CHECK_INDEX(i >= 0 && i < size, op, "(): index ", i, " is out of bounds for dimension ", dim, " with size ",
                      size);
  });
}

/// f(element of the table, element of the other side) for each position of the index. T is of the elements' size.
template <class T, class F>
void alongIndex(const TensorImpl& index, int64_t dim, const TensorImpl& table, const TensorImpl& other, F&& f) {
  const auto dims = static_cast<size_t>(dimsAtLeastOne(index)), d = static_cast<size_t>(dim);
  const int64_t whole = 1;
  Walked fixed = walkedOf(table, dims);
  const int64_t step = fixed.strides[d];
  fixed.strides[d] = 0;
  forEachRunTogether<3>(index.dim() == 0 ? IntArrayRef(&whole, 1) : index.sizes(),
                        {walkedOf(index, dims), fixed, walkedOf(other, dims)},
                        [&](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
                          for (int64_t i = 0; i < n; ++i) {
                            const int64_t k = *reinterpret_cast<const int64_t*>(at[0]);
                            f(*reinterpret_cast<T*>(at[1] + k * step), *reinterpret_cast<T*>(at[2]));
                            for (size_t o = 0; o < 3; ++o) at[o] += strides[o];
                          }
                        });
}

void gatherInto(const Tensor& self, int64_t dim, const Tensor& index, const TensorImpl& out) {
  const TensorImpl& at = *index.unsafeGetTensorImpl();
  if (at.numel() == 0) return;
  checkBounds("gather", at, dim, sizeAt(*self.unsafeGetTensorImpl(), dim));
  const Tensor from = readableBeside(self, out), positions = readableBeside(index, out);
  dispatchBySize(out.itemsize(), [&]<class T>(std::type_identity<T>) {
    alongIndex<T>(*positions.unsafeGetTensorImpl(), dim, *from.unsafeGetTensorImpl(), out,
                  [](T& element, T& result) { result = element; });
  });
}

enum class Scatter : uint8_t { kReplace, kAdd };

/// Checked arguments. Returns at once for Meta.
void scatterInto(const char* op, Scatter how, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const TensorImpl &to = *self.unsafeGetTensorImpl(), &at = *index.unsafeGetTensorImpl();
  if (!hasData(to) || at.numel() == 0) return;
  checkBounds(op, at, dim, sizeAt(to, dim));
  const Tensor from = readableBeside(src, to), positions = readableBeside(index, to);
  const TensorImpl &source = *from.unsafeGetTensorImpl(), &chosen = *positions.unsafeGetTensorImpl();
  if (how == Scatter::kAdd)
    dispatchAllTypes(to.dtype(), op, [&]<class T>(std::type_identity<T>) {
      alongIndex<T>(chosen, dim, to, source, [](T& element, T& added) { addElement(element, added); });
    });
  else
    dispatchBySize(to.itemsize(), [&]<class T>(std::type_identity<T>) {
      alongIndex<T>(chosen, dim, to, source, [](T& element, T& replacement) { element = replacement; });
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
int64_t checkedDim(const Target& t, const Tensor* src) {
  const TensorImpl& to = implOf(t.self, t.op);
  const TensorImpl& at = implOf(t.index, t.op, "index");
  const TensorImpl* from = src ? &implOf(*src, t.op, "src") : nullptr;
  const int64_t dim = maybe_wrap_dim(t.dim, to.dim());
  checkScatter(t.op, to, dim, at, from);
  return dim;
}

void checkWritten(const Target& t, const Tensor& written, const Tensor* src) {
  const TensorImpl& to = *written.unsafeGetTensorImpl();
  elementwise::assertNoInternalOverlap(t.op, to, Overlap::kError);
  elementwise::assertNoOverlap(t.op, to, *t.index.unsafeGetTensorImpl());
  if (src) elementwise::assertNoOverlap(t.op, to, *src->unsafeGetTensorImpl());
}

/// out= with the elements of `self`, before the scatter.
void prepareOut(const Target& t, const Tensor* src, Tensor& out) {
  SHUNT_CHECK(implOf(out, t.op, "out").dtype() == t.self.dtype(), t.op, "(): Expected out tensor to have dtype ",
              t.self.dtype(), ", but got ", out.dtype(), " instead");
  checkWritten(t, out, src);
  resizeOutput(out, t.self.sizes());
  if (!out.is_same(t.self)) copyBelowAutograd(out, t.self);
}

/// The number as a source of which all elements are one. Throws where it does not fit the dtype.
Tensor sourceOf(const Target& t, const Scalar& value) {
  const TensorImpl& self = *t.self.unsafeGetTensorImpl();
  Tensor source = newResult(self, {}, self.dtype());
  if (t.index.numel() != 0) fillBelowAutograd(source, value);
  return source;
}

Tensor scattered(const Target& t, Scatter how, const Tensor& src, int64_t dim) {
  Tensor result = native::clone(t.self, MemoryFormat::Contiguous);
  scatterInto(t.op, how, result, dim, t.index, src);
  return result;
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool /*sparse_grad*/) {
  const TensorImpl& from = implOf(self, "gather");
  const TensorImpl& at = implOf(index, "gather", "index");
  dim = maybe_wrap_dim(dim, from.dim());
  checkGather(from, dim, at);
  Tensor out = newResult(from, at.sizes(), from.dtype());
  if (hasData(from)) gatherInto(self, dim, index, *out.unsafeGetTensorImpl());
  return out;
}

Tensor& gather_out(const Tensor& self, int64_t dim, const Tensor& index, bool /*sparse_grad*/, Tensor& out) {
  const TensorImpl& from = implOf(self, "gather");
  const TensorImpl& at = implOf(index, "gather", "index");
  const TensorImpl& to = implOf(out, "gather", "out");
  dim = maybe_wrap_dim(dim, from.dim());
  checkGather(from, dim, at);
  SHUNT_CHECK(to.dtype() == from.dtype(), "gather(): Expected out tensor to have dtype ", from.dtype(), ", but got ",
              to.dtype(), " instead");
  resizeOutput(out, at.sizes());
  elementwise::assertNoInternalOverlap("gather", to, Overlap::kError);
  elementwise::assertNoOverlap("gather", to, from);
  elementwise::assertNoPartialOverlap("gather", to, at);
  if (hasData(from)) gatherInto(self, dim, index, to);
  return out;
}

Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Target t{"scatter", self, dim, index};
  return scattered(t, Scatter::kReplace, src, checkedDim(t, &src));
}
Tensor& scatter__src(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Target t{"scatter_", self, dim, index};
  dim = checkedDim(t, &src);
  checkWritten(t, self, &src);
  scatterInto(t.op, Scatter::kReplace, self, dim, index, src);
  return self;
}
Tensor& scatter_out_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  const Target t{"scatter", self, dim, index};
  dim = checkedDim(t, &src);
  prepareOut(t, &src, out);
  scatterInto(t.op, Scatter::kReplace, out, dim, index, src);
  return out;
}

Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const Target t{"scatter", self, dim, index};
  dim = checkedDim(t, nullptr);
  return scattered(t, Scatter::kReplace, sourceOf(t, value), dim);
}
Tensor& scatter__value(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const Target t{"scatter_", self, dim, index};
  dim = checkedDim(t, nullptr);
  checkWritten(t, self, nullptr);
  scatterInto(t.op, Scatter::kReplace, self, dim, index, sourceOf(t, value));
  return self;
}
Tensor& scatter_out_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  const Target t{"scatter", self, dim, index};
  dim = checkedDim(t, nullptr);
  const Tensor source = sourceOf(t, value);
  prepareOut(t, nullptr, out);
  scatterInto(t.op, Scatter::kReplace, out, dim, index, source);
  return out;
}

Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Target t{"scatter_add", self, dim, index};
  return scattered(t, Scatter::kAdd, src, checkedDim(t, &src));
}
Tensor& scatter_add_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Target t{"scatter_add_", self, dim, index};
  dim = checkedDim(t, &src);
  checkWritten(t, self, &src);
  scatterInto(t.op, Scatter::kAdd, self, dim, index, src);
  return self;
}
Tensor& scatter_add_out(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  const Target t{"scatter_add", self, dim, index};
  dim = checkedDim(t, &src);
  prepareOut(t, &src, out);
  scatterInto(t.op, Scatter::kAdd, out, dim, index, src);
  return out;
}

}  // namespace shunt::native
