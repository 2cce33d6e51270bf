// The pooling operators: max_pool2d, avg_pool2d, adaptive_avg_pool2d and their gradients.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/elements.h"
#include "kernels/nn/pool_geometry.h"

#include <shunt/ops.h>

namespace shunt::native {
namespace {

using nn::Averages;
using nn::PoolArguments;
using nn::PoolShape;

void checkGradient(const char* op, const TensorImpl& grad, const TensorImpl& self, const int64_t (&output)[2]) {
  const std::vector<int64_t> expected = nn::pooledSizes(self, output);
  SHUNT_CHECK(grad.sizes() == IntArrayRef(expected) && grad.dtype() == self.dtype(), op,
              "(): expected grad_output to be like the result, ", self.dtype(), ' ', IntArrayRef(expected), "; got ",
              grad.dtype(), ' ', grad.sizes());
}

void checkFloating(const char* op, ScalarType dtype, bool or_long) {
  if (!isFloatingType(dtype) && !(or_long && dtype == kLong)) detail::throwNotImplementedFor(op, dtype);
}

/// `or_long`: of int64_t, too.
Tensor averaged(const char* op, const Tensor& self, const Averages& a, bool or_long) {
  const TensorImpl& x = *self.unsafeGetTensorImpl();
  checkFloating(op, x.dtype(), or_long);
  Tensor out = newResult(x, nn::pooledSizes(x, a.shape.output), x.dtype());
  if (hasData(x) && out.numel() != 0)
    nn::average(a, *nn::dense(self).unsafeGetTensorImpl(), *out.unsafeGetTensorImpl());
  return nn::inFormatOf(self, std::move(out));
}

Tensor averageGradient(const char* op, const Tensor& grad_output, const Tensor& self, const Averages& a, bool or_long) {
  const TensorImpl& x = *self.unsafeGetTensorImpl();
  checkFloating(op, x.dtype(), or_long);
  checkGradient(op, implOf(grad_output, op, "grad_output"), x, a.shape.output);
  Tensor out = newResult(x, x.sizes(), x.dtype());
  if (hasData(x) && out.numel() != 0)
    nn::averageBackward(a, *nn::dense(grad_output).unsafeGetTensorImpl(), *out.unsafeGetTensorImpl());
  return nn::inFormatOf(self, std::move(out));
}

IntArrayRef adaptiveSizes(const char* op, const Tensor& grad_output) {
  const TensorImpl& g = implOf(grad_output, op, "grad_output");
  SHUNT_CHECK(g.dim() == 3 || g.dim() == 4, op, "(): Expected 3D or 4D tensor, but got ", g.sizes());
  for (int64_t d = 1; d < g.dim(); ++d)
    SHUNT_CHECK(g.sizes()[static_cast<size_t>(d)] > 0, op,
                "(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes ",
                g.sizes(), " with dimension ", d, " being empty");
  return g.sizes().slice(static_cast<size_t>(g.dim()) - 2);
}

}  // namespace

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(ops::max_pool2d_with_indices::call(self, kernel_size, stride, padding, dilation, ceil_mode));
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const TensorImpl& x = implOf(self, "max_pool2d");
  SHUNT_CHECK(!dilation.empty(), "max_pool2d: dilation must either be a single int, or a tuple of two ints");
  const PoolShape shape = nn::checkedPool(x, {"max_pool2d", kernel_size, stride, padding, dilation, ceil_mode});
  checkFloating("max_pool2d", x.dtype(), false);
  const std::vector<int64_t> sizes = nn::pooledSizes(x, shape.output);
  Tensor out = newResult(x, sizes, x.dtype()), indices = newResult(x, sizes, kLong);
  if (hasData(x) && out.numel() != 0)
    nn::maxPool(shape, *nn::dense(self).unsafeGetTensorImpl(), *out.unsafeGetTensorImpl(),
                *indices.unsafeGetTensorImpl());
  return {nn::inFormatOf(self, std::move(out)), nn::inFormatOf(self, std::move(indices))};
}

Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size,
                                        IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                        const Tensor& indices) {
  constexpr const char* kOp = "max_pool2d_with_indices_backward";
  const TensorImpl &x = implOf(self, kOp), &at = implOf(indices, kOp, "indices");
  SHUNT_CHECK(!dilation.empty(), "max_pool2d: dilation must either be a single int, or a tuple of two ints");
  const PoolShape shape = nn::checkedPool(x, {"max_pool2d", kernel_size, stride, padding, dilation, ceil_mode});
  checkFloating("max_pool2d_backward", x.dtype(), false);
  const TensorImpl& grad = implOf(grad_output, kOp, "grad_output");
  checkGradient(kOp, grad, x, shape.output);
  SHUNT_CHECK(at.sizes() == grad.sizes() && at.dtype() == kLong, kOp, "(): expected indices to be Long ", grad.sizes(),
              ", as grad_output; got ", at.dtype(), ' ', at.sizes());
  Tensor out = newResult(x, x.sizes(), x.dtype());
  if (hasData(x) && out.numel() != 0)
    nn::maxPoolBackward(shape, *nn::dense(grad_output).unsafeGetTensorImpl(), *nn::dense(indices).unsafeGetTensorImpl(),
                        *out.unsafeGetTensorImpl());
  return nn::inFormatOf(self, std::move(out));
}

Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  const PoolShape shape =
      nn::checkedPool(implOf(self, "avg_pool2d"), {"avg_pool2d", kernel_size, stride, padding, {}, ceil_mode});
  return averaged("avg_pool2d", self, nn::averagesOf(shape, count_include_pad, divisor_override), true);
}

Tensor avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                           IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor_override) {
  const PoolShape shape =
      nn::checkedPool(implOf(self, "avg_pool2d_backward"), {"avg_pool2d", kernel_size, stride, padding, {}, ceil_mode});
  return averageGradient("avg_pool2d_backward", grad_output, self,
                         nn::averagesOf(shape, count_include_pad, divisor_override), true);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  implOf(self, "adaptive_avg_pool2d");
  SHUNT_CHECK(output_size.size() == 2, "adaptive_avg_pool2d: output_size must be 2");
  SHUNT_CHECK(output_size[0] >= 0 && output_size[1] >= 0,
              "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received {",
              output_size[0], ", ", output_size[1], '}');
  // The mean is what there is one window of.
  if (output_size[0] == 1 && output_size[1] == 1) return shunt::mean(self, {-1, -2}, true);
  return ops::_adaptive_avg_pool2d::call(self, output_size);
}

Tensor _adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  constexpr const char* kOp = "adaptive_avg_pool2d";
  return averaged(kOp, self, nn::adaptiveAverages(kOp, implOf(self, kOp), output_size), false);
}

Tensor _adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp = "adaptive_avg_pool2d_backward";
  const IntArrayRef output = adaptiveSizes(kOp, grad_output);
  return averageGradient(kOp, grad_output, self, nn::adaptiveAverages(kOp, implOf(self, kOp), output), false);
}

}  // namespace shunt::native
