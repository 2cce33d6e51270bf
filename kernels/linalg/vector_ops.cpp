// The operators dot and mv.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/linalg/operands.h"
#include "kernels/rows/cascade.h"
#include "kernels/wrappers/structured.h"

#include <shunt/elementwise/cast.h>

namespace shunt::native {

namespace {

/// The stride a BLAS takes for a vector: a vector of one element has any.
int64_t vectorStride(const TensorImpl& v) { return v.numel() <= 1 ? 1 : v.strides()[0]; }

/// A vector with a positive stride.
Tensor usableVector(const Tensor& v) {
  return vectorStride(*v.unsafeGetTensorImpl()) > 0 ? v : linalg::contiguousCopy(v);
}

/// The sum of products by the lanes of reductions, for the types without a BLAS.
template <class T>
T loopDot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride) {
  using A = std::conditional_t<std::is_integral_v<T>, int64_t, opmath_t<T>>;
  const auto block = reduce::reductionLoops<A>(reduce::indexOf<accumulators::Sum>()).block;
  reduce::Cascade<A> blocks;
  A products[reduce::kBlock];
  for (int64_t b = 0; b < n; b += reduce::kBlock) {
    const int64_t count = std::min(reduce::kBlock, n - b);
    for (int64_t i = 0; i < count; ++i)
      products[i] = static_cast<A>(cast<A>(x[(b + i) * x_stride]) * cast<A>(y[(b + i) * y_stride]));
    blocks.push(block(products, count, A(0), A(0)));
  }
  return cast<T>(blocks.result());
}

}  // namespace

ResultMeta dot_meta(const Tensor& self, const Tensor& tensor) {
  const TensorImpl& a = implOf(self, "dot");
  const TensorImpl& b = implOf(tensor, "dot", "tensor");
  SHUNT_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  SHUNT_CHECK(a.dtype() == b.dtype(), "dot : expected both vectors to have same dtype, but found ", a.dtype(), " and ",
              b.dtype());
  SHUNT_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
              " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
              " elements respectively");
  if (a.dtype() == kBool) ::shunt::detail::throwNotImplementedFor("dot", a.dtype());
  return ResultMeta(a, IntArrayRef(), a.dtype());
}

void dot_impl(const Tensor& self, const Tensor& tensor, const Tensor& out) {
  const TensorImpl &a = *self.unsafeGetTensorImpl(), &b = *tensor.unsafeGetTensorImpl();
  dispatchAllTypes(a.dtype(), "dot", [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      T* const result = reinterpret_cast<T*>(out.unsafeGetTensorImpl()->data());
      const T* const x = reinterpret_cast<const T*>(a.data());
      const T* const y = reinterpret_cast<const T*>(b.data());
      const int64_t n = a.numel(), x_stride = vectorStride(a), y_stride = vectorStride(b);
      if constexpr (std::is_floating_point_v<T>) {
        if (x_stride > 0 && y_stride > 0) {
          *result = n == 0 ? T(0) : linalg::dot(n, x, x_stride, y, y_stride);
          return;
        }
      }
      *result = loopDot<T>(n, x, x_stride, y, y_stride);
    }
  });
}

ResultMeta mv_meta(const Tensor& self, const Tensor& vec) {
  const TensorImpl& a = implOf(self, "mv");
  const TensorImpl& x = implOf(vec, "mv", "vec");
  SHUNT_CHECK(a.dim() == 2 && x.dim() == 1, "vector + matrix @ vector expected, got 1, ", a.dim(), ", ", x.dim());
  const int64_t m = a.sizes()[0], k = a.sizes()[1];
  SHUNT_CHECK(k == x.numel(), "size mismatch, got ", m, ", ", m, "x", k, ",", x.numel(), ": argument 'self' has ", k,
              " columns, and 'vec' has ", x.numel(), " elements");
  SHUNT_CHECK(a.dtype() == x.dtype(), "expected scalar type ", a.dtype(), " but found ", x.dtype(),
              " (arguments 'self' and 'vec' need one dtype)");
  if (a.dtype() == kBool) ::shunt::detail::throwNotImplementedFor("addmv_impl_cpu", a.dtype());
  return ResultMeta(a, m, a.dtype());
}

void mv_impl(const Tensor& self, const Tensor& vec, const Tensor& out) {
  const TensorImpl& a = *self.unsafeGetTensorImpl();
  const int64_t m = a.sizes()[0], k = a.sizes()[1];
  const linalg::Operand matrix(self);
  const Tensor vector = usableVector(vec);
  const TensorImpl& v = *vector.unsafeGetTensorImpl();
  dispatchAllTypes(a.dtype(), "addmv_impl_cpu", [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      T* const y = reinterpret_cast<T*>(out.unsafeGetTensorImpl()->data());
      const T* const from = reinterpret_cast<const T*>(v.data());
      // A column matrix with the vector's stride as leading dimension.
      linalg::gemm<T>(m, 1, k, 1, matrix.view<T>(), {from, vectorStride(v), false}, 0, y, 1);
    }
  });
}

}  // namespace shunt::native
