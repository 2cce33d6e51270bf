// Gradients of reductions: formulas.h.
#include "kernels/autograd/formulas.h"

#include <algorithm>

namespace shunt::autograd {
namespace {

int64_t wrap(int64_t dim, int64_t n) { return dim < 0 ? dim + std::max<int64_t>(n, 1) : dim; }

std::vector<int64_t> sortedDims(IntArrayRef dims, int64_t n) {
  std::vector<int64_t> result;
  for (int64_t d : dims) result.push_back(wrap(d, n));
  std::sort(result.begin(), result.end());
  return result;
}

int64_t countReduced(IntArrayRef sizes, OptionalIntArrayRef dims) {
  int64_t count = 1;
  if (!dims || dims->empty()) {
    for (int64_t s : sizes) count *= s;
    return count;
  }
  const auto n = static_cast<int64_t>(sizes.size());
  for (int64_t d : *dims)
    if (n > 0) count *= sizes[static_cast<size_t>(wrap(d, n))];
  return count;
}

}  // namespace

Tensor restore_reduced_dims(const Tensor& grad, int64_t input_dim, IntArrayRef dims, bool keepdim) {
  if (keepdim || input_dim == 0) return grad;
  if (dims.empty()) return grad.reshape(std::vector<int64_t>(static_cast<size_t>(input_dim), 1));
  Tensor result = grad;
  for (int64_t d : sortedDims(dims, input_dim)) result = result.unsqueeze(d);
  return result;
}

Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims, bool keepdim) {
  const auto n = static_cast<int64_t>(sizes.size());
  return restore_reduced_dims(grad, n, dims ? *dims : IntArrayRef(), keepdim).expand(sizes);
}

Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims, bool keepdim) {
  return sum_backward(grad, sizes, dims, keepdim).div(Scalar(countReduced(sizes, dims)));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dims, bool keepdim) {
  const int64_t n = self.dim();
  // nan equals itself here: where the result is nan, the nans of the input share.
  const Tensor value = restore_reduced_dims(result, n, dims, keepdim);
  const Tensor chosen = self.eq(value).logical_or(self.isnan().logical_and(value.isnan()));
  const Tensor mask = chosen.to(grad.scalar_type());
  std::vector<int64_t> over = sortedDims(dims, n);
  if (over.empty())
    for (int64_t d = 0; d < n; ++d) over.push_back(d);
  const Tensor count = n == 0 ? mask : mask.sum(IntArrayRef(over), true);
  return restore_reduced_dims(grad, n, dims, keepdim).div(count).mul(mask);
}

Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes,
                                          bool keepdim) {
  const auto n = static_cast<int64_t>(sizes.size());
  if (n == 0) return grad;
  const int64_t d = wrap(dim, n);
  const Tensor g = keepdim ? grad : grad.unsqueeze(d);
  const Tensor at = keepdim ? indices : indices.unsqueeze(d);
  std::vector<int64_t> shape(sizes.size(), 1);
  shape[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
  const Tensor positions = arange(Scalar(sizes[static_cast<size_t>(d)]), at.options()).view(shape);
  return where(positions.eq(at), g, zeros({}, grad.options()));
}

namespace {

// For each element along `dim` the product of all others, without dividing: of those before it and those after it.
Tensor productOfOthers(const Tensor& self, int64_t dim) {
  const int64_t n = self.size(dim);
  std::vector<Tensor> before, after(static_cast<size_t>(n));
  Tensor running = ones_like(self.narrow(dim, 0, 1));
  for (int64_t i = 0; i < n; ++i) {
    before.push_back(running);
    running = running.mul(self.narrow(dim, i, 1));
  }
  running = ones_like(running);
  for (int64_t i = n; i-- > 0;) {
    after[static_cast<size_t>(i)] = running;
    running = running.mul(self.narrow(dim, i, 1));
  }
  return cat(before, dim).mul(cat(after, dim));
}

}  // namespace

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return grad.clone();
  if (self.numel() == 0) return zeros_like(self);
  return grad.mul(productOfOthers(self.to(result.scalar_type()).reshape({-1}), 0).reshape(self.sizes()));
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return grad.clone();
  const int64_t d = wrap(dim, self.dim());
  if (self.numel() == 0) return zeros_like(self);
  return (keepdim ? grad : grad.unsqueeze(d)).mul(productOfOthers(self.to(result.scalar_type()), d));
}

}  // namespace shunt::autograd
