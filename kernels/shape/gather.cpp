// gather, scatter and scatter_add.
#include "kernels/shape/along_index.h"
#include "kernels/shape/sums.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

namespace shunt::native {

using namespace along_index;

namespace {

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
      using A = opmath_t<T>;
      Sums<T> sums(to);
      alongIndex<T>(chosen, dim, to, source, [&](T& element, T& added) { addTo(sums[element], cast<A>(added)); });
      sums.store();
    });
  else
    dispatchBySize(to.itemsize(), [&]<class T>(std::type_identity<T>) {
      alongIndex<T>(chosen, dim, to, source, [](T& element, T& replacement) { element = replacement; });
    });
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
  resizeOutputApart("gather", out, at.sizes(), {&self, &index});
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
