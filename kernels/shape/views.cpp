// Views that rearrange dimensions: view, transpose, permute, squeeze, unsqueeze, expand and their in-place forms.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

namespace shunt::native {

namespace {

// In-place view operators change the handle's metadata; keyset and storage stay.
Tensor& reshapeInPlace(Tensor& self, const SizesAndStrides& dims) {
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(dims.sizes(), dims.strides(), impl.storage_offset());
  return self;
}

SizesAndStrides transposedDims(const TensorImpl& self, int64_t dim0, int64_t dim1) {
  SizesAndStrides dims = dimsOf(self);
  dim0 = maybe_wrap_dim(dim0, self.dim());
  dim1 = maybe_wrap_dim(dim1, self.dim());
  if (dim0 == dim1) return dims;
  std::swap(dims.sizesData()[dim0], dims.sizesData()[dim1]);
  std::swap(dims.stridesData()[dim0], dims.stridesData()[dim1]);
  return dims;
}

int64_t lastDimForT(const TensorImpl& self) {
  SHUNT_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return self.dim() < 2 ? 0 : 1;
}

/// Without the dimensions of size 1; of those only `only`, if it is not negative.
SizesAndStrides squeezedDims(const TensorImpl& self, int64_t only = -1) {
  SizesAndStrides dims;
  const IntArrayRef sizes = self.sizes();
  const auto dropped = [&](size_t i) { return sizes[i] == 1 && (only < 0 || only == static_cast<int64_t>(i)); };
  size_t kept = 0;
  for (size_t i = 0; i < sizes.size(); ++i) kept += !dropped(i);
  dims.resize(kept);
  for (size_t i = 0, to = 0; i < sizes.size(); ++i) {
    if (dropped(i)) continue;
    dims.sizesData()[to] = sizes[i];
    dims.stridesData()[to++] = self.strides()[i];
  }
  return dims;
}

SizesAndStrides unsqueezedDims(const TensorImpl& self, int64_t dim) {
  const int64_t ndim = self.dim();
  dim = maybe_wrap_dim(dim, ndim + 1);
  SizesAndStrides dims = dimsOf(self, 1);
  int64_t* sizes = dims.sizesData();
  int64_t* strides = dims.stridesData();
  const int64_t stride = dim < ndim ? sizes[dim] * strides[dim] : 1;
  std::copy_backward(sizes + dim, sizes + ndim, sizes + ndim + 1);
  std::copy_backward(strides + dim, strides + ndim, strides + ndim + 1);
  sizes[dim] = 1;
  strides[dim] = stride;
  return dims;
}

[[noreturn]] SHUNT_COLD void throwExpandedSize(int64_t wanted, int64_t size, int64_t dim, IntArrayRef target,
                                               IntArrayRef sizes) {
  if (wanted < 0 && dim < static_cast<int64_t>(target.size() - sizes.size()))
    throw Error(detail::str("The expanded size of the tensor (", wanted,
                            ") isn't allowed in a leading, non-existing dimension ", dim));
  throw Error(detail::str("The expanded size of the tensor (", wanted, ") must match the existing size (", size,
                          ") at non-singleton dimension ", dim, ".  Target sizes: ", target,
                          ".  Tensor sizes: ", sizes));
}

SizesAndStrides expandedDims(const TensorImpl& self, IntArrayRef target) {
  const int64_t ndim = self.dim();
  const auto target_ndim = static_cast<int64_t>(target.size());
  SHUNT_CHECK(target_ndim >= ndim, "expand(", self.device().type(), " ", self.dtype(), " tensor of size ", self.sizes(),
              ", size=", target, "): the number of sizes provided (", target_ndim,
              ") must be greater or equal to the number of dimensions in the tensor (", ndim, ")");
  SizesAndStrides dims;
  dims.resize(target.size());
  int64_t* sizes = dims.sizesData();
  int64_t* strides = dims.stridesData();
  for (int64_t i = target_ndim - 1; i >= 0; --i) {
    const int64_t from = i - (target_ndim - ndim);
    const int64_t size = from >= 0 ? self.sizes()[from] : 1;
    const int64_t stride = from >= 0 ? self.strides()[from] : i + 1 < target_ndim ? sizes[i + 1] * strides[i + 1] : 1;
    int64_t wanted = target[i];
    if (wanted == -1 && from >= 0) wanted = size;
    if (wanted < 0 || (wanted != size && size != 1)) [[unlikely]]
      throwExpandedSize(wanted, size, i, target, self.sizes());
    sizes[i] = wanted;
    strides[i] = wanted == size ? stride : 0;
  }
  detail::checkedNumel("expand", dims.sizes());
  return dims;
}

Tensor viewWithSize(const Tensor& self, IntArrayRef size, const char* op) {
  const TensorImpl& base = implOf(self, op);
  SizesAndStrides dims;
  dims.resize(size.size());
  inferSize(size, base.numel(), dims.sizesData());
  SHUNT_CHECK(
      computeViewStrides(base.sizes(), base.strides(), base.numel(), dims.sizes(), dims.stridesData()),
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
      "contiguous subspaces). Use .reshape(...) instead. The tensor's sizes are ",
      base.sizes(), ", its strides ", base.strides(), ", the requested size ", size);
  return makeView(base, dims, base.storage_offset());
}

/// The dimensions of `self` counted in elements of another size, which only the last one can take up; returns the
/// offset.
int64_t rescaleForDtype(const TensorImpl& self, ScalarType dtype, SizesAndStrides& dims) {
  const int64_t from = self.itemsize(), to = elementSize(dtype), ndim = self.dim();
  const auto what = [&] {
    return detail::str(" to view ", self.dtype(), " as ", dtype, " (different element sizes), but got ");
  };
  SHUNT_CHECK(ndim != 0, "self.dim() cannot be 0 to view ", self.dtype(), " as ", dtype, " (different element sizes)");
  const auto last = static_cast<size_t>(ndim - 1);
  int64_t* const sizes = dims.sizesData();
  int64_t* const strides = dims.stridesData();
  const auto scaled = [&](int64_t value, const char* name, int64_t dim) {
    if (from > to) return value * (from / to);
    const int64_t ratio = to / from;
    SHUNT_CHECK(value % ratio == 0, "self.", name, "(", dim < 0 ? "" : detail::str(dim), ") must be divisible by ",
                ratio, what(), value);
    return value / ratio;
  };
  SHUNT_CHECK(strides[last] == 1, "self.stride(-1) must be 1", what(), strides[last]);
  sizes[last] = scaled(sizes[last], "size", ndim - 1);
  for (size_t d = 0; d < last; ++d) strides[d] = scaled(strides[d], "stride", static_cast<int64_t>(d));
  return scaled(self.storage_offset(), "storage_offset", -1);
}

}  // namespace

Tensor alias(const Tensor& self) {
  const TensorImpl& base = implOf(self, "alias");
  return makeView(base, base.sizes(), base.strides(), base.storage_offset());
}

Tensor detach(const Tensor& self) {
  const TensorImpl& base = implOf(self, "detach");
  return makeView(base, base.sizes(), base.strides(), base.storage_offset());
}

// Below autograd there is nothing to detach from.
// Without an Autograd key in the call (no_grad) the history goes all the same.
Tensor& detach_(Tensor& self) { return detach_autograd_(self); }

Tensor view(const Tensor& self, IntArrayRef size) { return viewWithSize(self, size, "view"); }

Tensor view_dtype(const Tensor& self, ScalarType dtype) {
  const TensorImpl& base = implOf(self, "view");
  const int64_t from = base.itemsize(), to = elementSize(dtype);
  SizesAndStrides dims = dimsOf(base);
  int64_t offset = base.storage_offset();
  if (from != to) offset = rescaleForDtype(base, dtype, dims);
  auto view = make_intrusive<TensorImpl>(base.storage(), base.key_set() - kAutogradKeys, dtype);
  view->set_sizes_and_strides(dims.sizes(), dims.strides(), offset);
  if (!base.is_inference()) view->share_version_counter_of(base);
  return Tensor(std::move(view));
}

Tensor _unsafe_view(const Tensor& self, IntArrayRef size) { return viewWithSize(self, size, "_unsafe_view"); }

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const TensorImpl& base = implOf(self, "transpose");
  return makeView(base, transposedDims(base, dim0, dim1), base.storage_offset());
}

Tensor& transpose_(Tensor& self, int64_t dim0, int64_t dim1) {
  return reshapeInPlace(self, transposedDims(implOf(self, "transpose_"), dim0, dim1));
}

Tensor t(const Tensor& self) {
  const TensorImpl& base = implOf(self, "t");
  return makeView(base, transposedDims(base, 0, lastDimForT(base)), base.storage_offset());
}

Tensor& t_(Tensor& self) {
  const TensorImpl& base = implOf(self, "t_");
  return reshapeInPlace(self, transposedDims(base, 0, lastDimForT(base)));
}

Tensor permute(const Tensor& self, IntArrayRef order) {
  const TensorImpl& base = implOf(self, "permute");
  const int64_t ndim = base.dim();
  SHUNT_CHECK(
      static_cast<int64_t>(order.size()) == ndim,
      "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
      "dimensions i.e. input.dim() = ",
      ndim, " is not equal to len(dims) = ", order.size());
  SizesAndStrides dims;
  dims.resize(order.size());
  constexpr int64_t kUnset = -1;
  std::fill_n(dims.sizesData(), ndim, kUnset);
  // Inverse first: position of each old dimension; a second visit is a repeat.
  for (int64_t i = 0; i < ndim; ++i) {
    int64_t& seen = dims.sizesData()[maybe_wrap_dim(order[i], ndim)];
    SHUNT_CHECK(seen == kUnset, "permute(): duplicate dims are not allowed: repeated dim ", order[i], " in ", order);
    seen = i;
  }
  for (int64_t i = 0; i < ndim; ++i) {
    const int64_t from = maybe_wrap_dim(order[i], ndim);
    dims.sizesData()[i] = base.sizes()[from];
    dims.stridesData()[i] = base.strides()[from];
  }
  return makeView(base, dims, base.storage_offset());
}

Tensor expand(const Tensor& self, IntArrayRef size, bool) {
  const TensorImpl& base = implOf(self, "expand");
  return makeView(base, expandedDims(base, size), base.storage_offset());
}

Tensor squeeze(const Tensor& self) {
  const TensorImpl& base = implOf(self, "squeeze");
  return makeView(base, squeezedDims(base), base.storage_offset());
}

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  const TensorImpl& base = implOf(self, "squeeze");
  return makeView(base, squeezedDims(base, maybe_wrap_dim(dim, base.dim())), base.storage_offset());
}

Tensor& squeeze_(Tensor& self) { return reshapeInPlace(self, squeezedDims(implOf(self, "squeeze_"))); }

Tensor& squeeze_dim_(Tensor& self, int64_t dim) {
  const TensorImpl& base = implOf(self, "squeeze_");
  return reshapeInPlace(self, squeezedDims(base, maybe_wrap_dim(dim, base.dim())));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const TensorImpl& base = implOf(self, "unsqueeze");
  return makeView(base, unsqueezedDims(base, dim), base.storage_offset());
}

Tensor& unsqueeze_(Tensor& self, int64_t dim) {
  return reshapeInPlace(self, unsqueezedDims(implOf(self, "unsqueeze_"), dim));
}

}  // namespace shunt::native
