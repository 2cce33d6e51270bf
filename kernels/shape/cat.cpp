// cat: tensors one after the other along a dimension, in their common dtype.
#include "kernels/shape/cat.h"
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"
#include "kernels/common/view_util.h"

#include <shunt/tensor/memory_overlap.h>

#include <cstring>

namespace shunt::native {

namespace {

// An empty 1-dimensional tensor fits anywhere and adds nothing: kept from the time before 0-size dimensions.
bool isSkipped(const TensorImpl& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

struct CatPlan {
  SizesAndStrides dims;  // the result's sizes
  int64_t dim = 0;
  ScalarType dtype = kFloat;
  std::optional<MemoryFormat> format;
};

void checkFits(const TensorImpl& first, const TensorImpl& t, int64_t dim, size_t number) {
  SHUNT_CHECK(t.dim() == first.dim(), "Tensors must have same number of dimensions: got ", first.dim(), " and ",
              t.dim());
  for (int64_t d = 0; d < t.dim(); ++d)
    SHUNT_CHECK(d == dim || t.sizes()[d] == first.sizes()[d], "Sizes of tensors must match except in dimension ", dim,
                ". Expected size ", first.sizes()[d], " but got size ", t.sizes()[d], " for tensor number ", number,
                " in the list.");
}

CatPlan planCat(TensorList tensors, int64_t dim) {
  SHUNT_CHECK_VALUE(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  CatPlan plan;
  const TensorImpl* first = nullptr;
  size_t number = 0;
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = implOf(tensor, "cat", "tensors");
    SHUNT_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", number, ") cannot be concatenated");
    plan.dtype = number == 0 ? t.dtype() : promoteTypes(plan.dtype, t.dtype());
    const MemoryFormat format = tensor.suggest_memory_format();
    plan.format = number == 0 || plan.format == format ? format : MemoryFormat::Contiguous;
    ++number;
    if (first == nullptr && !isSkipped(t)) first = &t;
  }
  if (first == nullptr) {
    plan.dims.resize(1);
    plan.dims.sizesData()[0] = 0;
    return plan;
  }
  plan.dim = maybe_wrap_dim(dim, first->dim());
  plan.dims = dimsOf(*first);
  int64_t total = 0;
  number = 0;
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = *tensor.unsafeGetTensorImpl();
    if (!isSkipped(t)) {
      checkFits(*first, t, plan.dim, number);
      SHUNT_CHECK(!__builtin_add_overflow(total, t.sizes()[plan.dim], &total), "cat(): the size of dimension ",
                  plan.dim, " overflows int64");
    }
    ++number;
  }
  plan.dims.sizesData()[plan.dim] = total;
  return plan;
}

bool allContiguousOf(TensorList tensors, ScalarType dtype) {
  for (const Tensor& t : tensors)
    if (t.dtype() != dtype || !t.is_contiguous()) return false;
  return true;
}

// Row by row: one block of each tensor for every index of the dimensions before `dim`.
void catContiguous(TensorList tensors, int64_t dim, const TensorImpl& out) {
  int64_t rows = 1;
  for (int64_t d = 0; d < dim; ++d) rows *= out.sizes()[d];
  const int64_t row_bytes = out.numel() / rows * out.itemsize();
  std::byte* column = out.data();
  for (const Tensor& tensor : tensors) {
    const int64_t bytes = tensor.numel() / rows * out.itemsize();
    if (bytes == 0) continue;
    const std::byte* from = tensor.unsafeGetTensorImpl()->data();
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(column + r * row_bytes, from + r * bytes, static_cast<size_t>(bytes));
    column += bytes;
  }
}

void catInto(TensorList tensors, int64_t dim, const Tensor& out) {
  const TensorImpl& to = *out.unsafeGetTensorImpl();
  if (to.numel() == 0) return;
  if (to.is_contiguous() && allContiguousOf(tensors, to.dtype())) return catContiguous(tensors, dim, to);
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = *tensor.unsafeGetTensorImpl();
    if (isSkipped(t)) continue;
    const int64_t length = t.sizes()[dim];
    copyBelowAutograd(native::slice(out, dim, start, start + length, 1), tensor);
    start += length;
  }
}

/// `format`: of `out`, if that is resized; else the tensors' own.
CatPlan prepareOut(TensorList tensors, int64_t dim, const Tensor& out, std::optional<MemoryFormat> format = {}) {
  implOf(out, "cat", "out");
  CatPlan plan = planCat(tensors, dim);
  SHUNT_CHECK_TYPE(canCast(plan.dtype, out.dtype()),
                   "torch.cat(): input types can't be cast to the desired output type ", out.dtype());
  for (const Tensor& t : tensors)
    // An empty input shares no memory with `out`, but where it is `out` it would grow with it.
    SHUNT_CHECK(
        !t.is_same(out) && memory_overlap(*out.unsafeGetTensorImpl(), *t.unsafeGetTensorImpl()) == MemoryOverlap::kNone,
        "unsupported operation: the input tensors cannot refer to any of the output memory locations.");
  if (out.sizes() == plan.dims.sizes()) {
    elementwise::assertNoInternalOverlap("cat", *out.unsafeGetTensorImpl(), Overlap::kError);
  } else {
    int64_t numel = 1;
    for (const int64_t size : plan.dims.sizes()) numel *= size;
    for (const Tensor& t : tensors)
      elementwise::assertGrowsApart("cat", *out.unsafeGetTensorImpl(), numel, *t.unsafeGetTensorImpl());
  }
  resizeOutput(out, plan.dims.sizes(), format.value_or(plan.format.value_or(MemoryFormat::Contiguous)));
  return plan;
}

}  // namespace

void resizeForStack(TensorList tensors, int64_t dim, const Tensor& out) {
  prepareOut(tensors, dim, out, MemoryFormat::Contiguous);
}

Tensor cat_cpu(TensorList tensors, int64_t dim) {
  const CatPlan plan = planCat(tensors, dim);
  Tensor out = makeEmpty("cat", plan.dims.sizes(), plan.dtype, std::nullopt, Device(kCPU), std::nullopt, plan.format);
  catInto(tensors, plan.dim, out);
  return out;
}

Tensor cat_meta(TensorList tensors, int64_t dim) {
  const CatPlan plan = planCat(tensors, dim);
  return makeEmpty("cat", plan.dims.sizes(), plan.dtype, std::nullopt, tensors[0].device(), std::nullopt, plan.format);
}

Tensor& cat_out_cpu(TensorList tensors, int64_t dim, Tensor& out) {
  const CatPlan plan = prepareOut(tensors, dim, out);
  catInto(tensors, plan.dim, out);
  return out;
}

Tensor& cat_out_meta(TensorList tensors, int64_t dim, Tensor& out) {
  prepareOut(tensors, dim, out);
  return out;
}

}  // namespace shunt::native
