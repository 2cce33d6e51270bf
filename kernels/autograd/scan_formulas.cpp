// Gradients of scans: formulas.h.
#include "kernels/autograd/formulas.h"

namespace shunt::autograd {
namespace {

/// The elements along `dim` from the last to the first.
Tensor reversed(const Tensor& t, int64_t dim) {
  const TensorOptions options = TensorOptions(kLong).device(t.device());
  return t.index_select(dim, arange(Scalar(t.size(dim) - 1), Scalar(-1), Scalar(-1), options));
}

/// For each element the product of those before it along `dim`.
Tensor productsBefore(const Tensor& result, int64_t dim) {
  const Tensor one = ones_like(result.narrow(dim, 0, 1));
  return cat(std::vector<Tensor>{one, result.narrow(dim, 0, result.size(dim) - 1)}, dim);
}

}  // namespace

Tensor cumsum_backward(const Tensor& grad, int64_t dim) {
  if (grad.dim() == 0 || grad.numel() <= 1) return grad;
  return reversed(reversed(grad, dim).cumsum(dim), dim);
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result) {
  if (grad.dim() == 0 || grad.numel() <= 1) return grad.clone();
  // An element's gradient is the product of those before it, times a sum over itself and those after it, which is made
  // from the last on: without a division, so zeros need no care.
  const Tensor x = in_compute_type(self.to(result.scalar_type())), g = in_compute_type(grad);
  const Tensor products = x.scalar_type() == result.scalar_type() ? result : x.cumprod(dim);
  const int64_t n = x.size(dim);
  std::vector<Tensor> sums(static_cast<size_t>(n));
  Tensor sum = g.narrow(dim, n - 1, 1);
  sums[static_cast<size_t>(n - 1)] = sum;
  for (int64_t i = n - 1; i-- > 0;) {
    sum = g.narrow(dim, i, 1).add(x.narrow(dim, i + 1, 1).mul(sum));
    sums[static_cast<size_t>(i)] = sum;
  }
  return productsBefore(products, dim).mul(cat(sums, dim));
}

}  // namespace shunt::autograd
