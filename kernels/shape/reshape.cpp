// Views by way of others: reshape, flatten, narrow, split, chunk, unbind; stack.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/shape/cat.h"

#include <shunt/ops.h>

#include <limits>

namespace shunt::native {

Tensor view_as(const Tensor& self, const Tensor& other) {
  implOf(self, "view_as");
  return self.view(implOf(other, "view_as", "other").sizes());
}

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const TensorImpl& base = implOf(self, "reshape");
  SizesAndStrides dims;
  dims.resize(shape.size());
  inferSize(shape, base.numel(), dims.sizesData());
  if (computeViewStrides(base.sizes(), base.strides(), base.numel(), dims.sizes(), dims.stridesData()))
    return shunt::_reshape_alias(self, dims.sizes(), dims.strides());
  return shunt::_unsafe_view(self.clone(MemoryFormat::Contiguous), dims.sizes());
}

Tensor reshape_as(const Tensor& self, const Tensor& other) {
  implOf(self, "reshape_as");
  return self.reshape(implOf(other, "reshape_as", "other").sizes());
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const TensorImpl& base = implOf(self, "flatten");
  const int64_t ndim = base.dim();
  start_dim = maybe_wrap_dim(start_dim, ndim);
  end_dim = maybe_wrap_dim(end_dim, ndim);
  SHUNT_CHECK(start_dim <= end_dim, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (ndim == 0) return self.reshape({1});
  if (start_dim == end_dim) return self;
  SizesAndStrides dims;
  dims.resize(static_cast<size_t>(ndim - (end_dim - start_dim)));
  int64_t* sizes = std::copy_n(base.sizes().begin(), start_dim, dims.sizesData());
  *sizes = 1;
  for (int64_t i = start_dim; i <= end_dim; ++i) *sizes *= base.sizes()[i];
  std::copy(base.sizes().begin() + end_dim + 1, base.sizes().end(), sizes + 1);
  return self.reshape(dims.sizes());
}

Tensor expand_as(const Tensor& self, const Tensor& other) {
  implOf(self, "expand_as");
  return self.expand(implOf(other, "expand_as", "other").sizes());
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  const TensorImpl& base = implOf(self, "narrow");
  SHUNT_CHECK(base.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  SHUNT_CHECK(length >= 0, "narrow(): length must be non-negative, but got ", length);
  const int64_t size = base.sizes()[maybe_wrap_dim(dim, base.dim())];
  SHUNT_CHECK_INDEX(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ",
                    size, "], but got ", start, ")");
  if (start < 0) start += size;
  SHUNT_CHECK(length <= size - start, "start (", start, ") + length (", length, ") exceeds dimension size (", size,
              ").");
  return self.slice(dim, start, start + length, 1);
}

Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  const TensorImpl& at = implOf(start, "narrow", "start");
  SHUNT_CHECK(at.dim() == 0 && isIntegralType(at.dtype(), false), "start must be an 0-dim integral Tensor.");
  return native::narrow(self, dim, start.item().toLong(), length);
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  const TensorImpl& base = implOf(self, "split");
  SHUNT_CHECK(base.dim() != 0, "split expects at least a 1-dimensional tensor");
  SHUNT_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t size = base.sizes()[maybe_wrap_dim(dim, base.dim())];
  SHUNT_CHECK(split_size > 0 || size == 0,
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  std::vector<Tensor> parts;
  // An empty dimension still gives one part.
  int64_t start = 0;
  do {
    const int64_t length = std::min(split_size, size - start);
    parts.push_back(native::slice(self, dim, start, start + length, 1));
    start += length;
  } while (start < size);
  return parts;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  const TensorImpl& base = implOf(self, "split_with_sizes");
  SHUNT_CHECK(base.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = maybe_wrap_dim(dim, base.dim());
  const int64_t size = base.sizes()[dim];
  int64_t rest = size;
  for (int64_t part : split_sizes) {
    SHUNT_CHECK(part >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
                split_sizes);
    rest = part <= rest ? rest - part : -1;
    if (rest < 0) break;
  }
  SHUNT_CHECK(rest == 0, "split_with_sizes expects split_sizes to sum exactly to ", size,
              " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  std::vector<Tensor> parts;
  parts.reserve(split_sizes.size());
  int64_t start = 0;
  for (int64_t part : split_sizes) {
    parts.push_back(native::slice(self, dim, start, start + part, 1));
    start += part;
  }
  return parts;
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const TensorImpl& base = implOf(self, "chunk");
  SHUNT_CHECK(base.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  SHUNT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = base.sizes()[maybe_wrap_dim(dim, base.dim())];
  const int64_t split_size = size / chunks + (size % chunks != 0);
  // Only chunk keeps the number of parts where there is nothing to share out.
  if (split_size == 0) return self.split_with_sizes(std::vector<int64_t>(static_cast<size_t>(chunks), 0), dim);
  return self.split(split_size, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  const TensorImpl& base = implOf(self, "unbind");
  dim = maybe_wrap_dim(dim, base.dim(), false);
  const int64_t size = base.sizes()[dim];
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) parts.push_back(native::select(self, dim, i));
  return parts;
}

namespace {

/// Checks the list; `dim` becomes a dimension of the result.
IntArrayRef checkedStackSizes(TensorList tensors, int64_t& dim) {
  SHUNT_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const IntArrayRef sizes = implOf(tensors[0], "stack", "tensors").sizes();
  dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()) + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    const IntArrayRef these = implOf(tensors[i], "stack", "tensors").sizes();
    SHUNT_CHECK(these == sizes, "stack expects each tensor to be equal size, but got ", sizes, " at entry 0 and ",
                these, " at entry ", i);
  }
  return sizes;
}

std::vector<Tensor> unsqueezed(TensorList tensors, int64_t dim) {
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) parts.push_back(native::unsqueeze(t, dim));
  return parts;
}

}  // namespace

// Before the last dimension a stack is a cat of whole blocks: its layout is that of the tensors' cat, as PyTorch has
// it.
Tensor stack(TensorList tensors, int64_t dim) {
  std::vector<int64_t> sizes = checkedStackSizes(tensors, dim).vec();
  if (dim == static_cast<int64_t>(sizes.size()) || (sizes.size() == 1 && sizes[0] == 0))
    return shunt::cat(unsqueezed(tensors, dim), dim);
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(tensors.size()));
  return native::view(shunt::cat(tensors, dim), sizes);
}

Tensor& stack_out(TensorList tensors, int64_t dim, Tensor& out) {
  std::vector<int64_t> sizes = checkedStackSizes(tensors, dim).vec();
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(tensors.size()));
  const std::vector<Tensor> parts = unsqueezed(tensors, dim);
  if (out.sizes() != IntArrayRef(sizes) && (out.is_cpu() || out.is_meta())) resizeForStack(parts, dim, out);
  return shunt::cat_out(out, parts, dim);
}

}  // namespace shunt::native
