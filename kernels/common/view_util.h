// What view operators share: making a view in one go, checked access to a tensor's impl, stride arithmetic.
//
// A view shares its base's storage and version counter. Its keyset is the base's without the Autograd keys: Autograd
// puts its own on afterwards where the view is differentiable. Pure functions of their arguments; any thread.
#pragma once

#include <shunt/core/wrap_dim.h>
#include <shunt/tensor/tensor.h>

namespace shunt::native {

[[noreturn]] SHUNT_COLD inline void throwUndefinedArgument(const char* op, const char* argument) {
  throw Error(detail::str(op, "(): argument '", argument, "' is an undefined tensor; expected one with data"));
}

/// The impl of a tensor argument, or an error that names the operator and the argument.
SHUNT_ALWAYS_INLINE const TensorImpl& implOf(const Tensor& t, const char* op, const char* argument = "self") {
  if (!t.defined()) [[unlikely]]
    throwUndefinedArgument(op, argument);
  return *t.unsafeGetTensorImpl();
}

/// A tensor over the same storage. The caller guarantees that sizes and strides stay inside it.
inline Tensor makeView(const TensorImpl& self, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset) {
  auto view = make_intrusive<TensorImpl>(self.storage(), self.key_set() - kAutogradKeys, self.dtype());
  view->set_sizes_and_strides(sizes, strides, storage_offset);
  if (!self.is_inference()) view->share_version_counter_of(self);
  return Tensor(std::move(view));
}

inline Tensor makeView(const TensorImpl& self, const SizesAndStrides& dims, int64_t storage_offset) {
  return makeView(self, dims.sizes(), dims.strides(), storage_offset);
}

/// A tensor's dimensions, to be changed, and room for `extra` more; no heap memory up to 5 of them.
SHUNT_ALWAYS_INLINE void copyDims(const TensorImpl& self, SizesAndStrides& dims, int64_t extra = 0) {
  const auto ndim = static_cast<size_t>(self.dim());
  dims.resize(ndim + static_cast<size_t>(extra));
  if (dims.dim() <= SizesAndStrides::kInline) [[likely]] {
    // Both sides are inline arrays of that length: a copy of known size is a few moves, one of unknown size a call.
    std::copy_n(self.sizes().data(), SizesAndStrides::kInline, dims.sizesData());
    std::copy_n(self.strides().data(), SizesAndStrides::kInline, dims.stridesData());
  } else {
    std::copy_n(self.sizes().data(), ndim, dims.sizesData());
    std::copy_n(self.strides().data(), ndim, dims.stridesData());
  }
}

inline SizesAndStrides dimsOf(const TensorImpl& self, int64_t extra = 0) {
  SizesAndStrides dims;
  copyDims(self, dims, extra);
  return dims;
}

/// Row-major strides for `sizes`; a dimension of size 0 counts as 1.
inline void contiguousStrides(IntArrayRef sizes, int64_t* strides) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= sizes[i] > 0 ? sizes[i] : 1;
  }
}

/// The sizes that `requested` means for `numel` elements: at most one -1 is inferred. Throws as PyTorch's view and
/// reshape.
void inferSize(IntArrayRef requested, int64_t numel, int64_t* out);

/// The strides that show the elements of (sizes, strides) as `new_sizes` without a copy; false where there are none.
bool computeViewStrides(IntArrayRef sizes, IntArrayRef strides, int64_t numel, IntArrayRef new_sizes,
                        int64_t* new_strides);

}  // namespace shunt::native
