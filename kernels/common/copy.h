// Copies that kernels make for themselves, below autograd: no version bump, no graph. Defined in kernels/shape.
//
// For a backend's own kernels (CPU) this is a plain call; for other backends it dispatches copy_ and fill_ with the
// Autograd and ADInplaceOrView keys excluded. Any thread; `dst` is written, its handle is not.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// dst[...] = src[...], with a cast to dst's dtype and src broadcast to dst's sizes.
void copyBelowAutograd(const Tensor& dst, const Tensor& src);
void fillBelowAutograd(const Tensor& dst, const Scalar& value);
void zeroBelowAutograd(const Tensor& dst);

/// `sizes` with the strides of a dense tensor whose dimensions lie in the order of `like_strides`.
void denseStridesLike(IntArrayRef sizes, IntArrayRef like_strides, int64_t* strides);

/// A tensor's bytes when they are one dense run: null otherwise, or when it has no elements.
std::byte* denseData(const TensorImpl& t);

}  // namespace shunt::native
