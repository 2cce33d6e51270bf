// Views of a part of a tensor: select, slice, diagonal, as_strided and their backward forms.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

#include <limits>

namespace shunt::native {

namespace {

// Dimensions go to `dims`, where they need not be copied again; the result is the part's storage offset.
int64_t selectedDims(const TensorImpl& self, int64_t dim, int64_t index, SizesAndStrides& dims) {
  const int64_t ndim = self.dim();
  SHUNT_CHECK_INDEX(ndim != 0, "select() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, ndim);
  const int64_t size = self.sizes()[dim];
  SHUNT_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                    self.sizes(), " at dimension ", dim);
  if (index < 0) index += size;
  dims.resize(static_cast<size_t>(ndim - 1));
  for (int64_t i = 0, to = 0; i < ndim; ++i) {
    if (i == dim) continue;
    dims.sizesData()[to] = self.sizes()[i];
    dims.stridesData()[to++] = self.strides()[i];
  }
  return self.storage_offset() + index * self.strides()[dim];
}

int64_t slicedDims(const TensorImpl& self, int64_t dim, int64_t start, int64_t end, int64_t step,
                   SizesAndStrides& dims) {
  SHUNT_CHECK_INDEX(self.dim() != 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  SHUNT_CHECK(step > 0, "slice step must be positive, but got ", step);
  copyDims(self, dims);
  const int64_t size = self.sizes()[dim];
  const int64_t stride = self.strides()[dim];
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  const int64_t length = end - start;
  dims.sizesData()[dim] = length / step + (length % step != 0);
  // The stride of a dimension with at most one element may wrap: it is never used.
  dims.stridesData()[dim] = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(step));
  return self.storage_offset() + start * stride;
}

int64_t checkedOffset(const TensorImpl& self, IntArrayRef size, IntArrayRef stride,
                      std::optional<int64_t> storage_offset) {
  SHUNT_CHECK(size.size() == stride.size(), "as_strided(): mismatch in length of strides and shape: size ", size,
              ", stride ", stride);
  for (int64_t s : stride)
    SHUNT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  SHUNT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  const int64_t span = detail::storageBytes("as_strided", size, stride, self.itemsize());
  if (span == 0) return offset;
  int64_t needed = 0;
  const bool overflow =
      __builtin_mul_overflow(offset, self.itemsize(), &needed) || __builtin_add_overflow(needed, span, &needed);
  SHUNT_CHECK(!overflow && needed <= static_cast<int64_t>(self.storage()->nbytes()), "setStorage: sizes ", size,
              ", strides ", stride, ", storage offset ", offset, ", and itemsize ", self.itemsize(),
              " requiring a storage size of ", overflow ? std::numeric_limits<int64_t>::max() : needed,
              " are out of bounds for storage of size ", self.storage()->nbytes());
  return offset;
}

}  // namespace

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  const TensorImpl& base = implOf(self, "select");
  SizesAndStrides dims;
  const int64_t offset = selectedDims(base, dim, index, dims);
  return makeView(base, dims, offset);
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const TensorImpl& base = implOf(self, "slice");
  SizesAndStrides dims;
  const int64_t offset =
      slicedDims(base, dim, start.value_or(0), end.value_or(std::numeric_limits<int64_t>::max()), step, dims);
  return makeView(base, dims, offset);
}

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const TensorImpl& base = implOf(self, "as_strided");
  return makeView(base, size, stride, checkedOffset(base, size, stride, storage_offset));
}

Tensor& as_strided_(Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = checkedOffset(implOf(self, "as_strided_"), size, stride, storage_offset);
  // The arguments may be views of the tensor's own dimensions.
  SizesAndStrides dims;
  dims.resize(size.size());
  std::copy(size.begin(), size.end(), dims.sizesData());
  std::copy(stride.begin(), stride.end(), dims.stridesData());
  self.unsafeGetTensorImpl()->set_sizes_and_strides(dims.sizes(), dims.strides(), offset);
  return self;
}

Tensor _reshape_alias(const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  const TensorImpl& base = implOf(self, "_reshape_alias");
  return makeView(base, size, stride, checkedOffset(base, size, stride, std::nullopt));
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const TensorImpl& base = implOf(self, "diagonal");
  const int64_t ndim = base.dim();
  const int64_t row = maybe_wrap_dim(dim1, ndim, false);
  const int64_t column = maybe_wrap_dim(dim2, ndim, false);
  SHUNT_CHECK(row != column, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const IntArrayRef sizes = base.sizes();
  const IntArrayRef strides = base.strides();
  // Clamped so that a far offset gives an empty diagonal without overflow.
  const int64_t skipped_columns = std::clamp<int64_t>(offset, 0, sizes[column]);
  const int64_t skipped_rows = std::clamp<int64_t>(offset, -sizes[row], 0) * -1;
  const int64_t length = std::max<int64_t>(std::min(sizes[row] - skipped_rows, sizes[column] - skipped_columns), 0);
  int64_t start = base.storage_offset();
  if (length > 0) start += skipped_columns * strides[column] + skipped_rows * strides[row];
  SizesAndStrides dims;
  dims.resize(static_cast<size_t>(ndim - 1));
  for (int64_t i = 0, to = 0; i < ndim; ++i) {
    if (i == row || i == column) continue;
    dims.sizesData()[to] = sizes[i];
    dims.stridesData()[to++] = strides[i];
  }
  dims.sizesData()[ndim - 2] = length;
  dims.stridesData()[ndim - 2] = strides[row] + strides[column];
  return makeView(base, dims, start);
}

Tensor diagonal_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  Tensor grad_input =
      native::zeros(input_sizes, grad_output.dtype(), grad_output.layout(), grad_output.device(), std::nullopt);
  copyBelowAutograd(native::diagonal(grad_input, offset, dim1, dim2), grad_output);
  return grad_input;
}

Tensor slice_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t start, int64_t end,
                      int64_t step) {
  Tensor grad_input =
      native::zeros(input_sizes, grad_output.dtype(), grad_output.layout(), grad_output.device(), std::nullopt);
  copyBelowAutograd(native::slice(grad_input, dim, start, end, step), grad_output);
  return grad_input;
}

Tensor select_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t index) {
  Tensor grad_input =
      native::zeros(input_sizes, grad_output.dtype(), grad_output.layout(), grad_output.device(), std::nullopt);
  copyBelowAutograd(native::select(grad_input, dim, index), grad_output);
  return grad_input;
}

}  // namespace shunt::native
