// Gradients of reductions: formulas.h.
#include "kernels/autograd/formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  return sum_backward(in_compute_type(grad), sizes, dims, keepdim).div(Scalar(countReduced(sizes, dims)));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dims, bool keepdim) {
  const int64_t n = self.dim();
  // nan equals itself here: where the result is nan, the nans of the input share.
  const Tensor value = restore_reduced_dims(result, n, dims, keepdim);
  const Tensor chosen = self.eq(value).logical_or(self.isnan().logical_and(value.isnan()));
  const Tensor g = in_compute_type(grad);
  const Tensor mask = chosen.to(g.scalar_type());
  std::vector<int64_t> over = sortedDims(dims, n);
  if (over.empty())
    for (int64_t d = 0; d < n; ++d) over.push_back(d);
  const Tensor count = n == 0 ? mask : mask.sum(IntArrayRef(over), true);
  return restore_reduced_dims(g, n, dims, keepdim).div(count).mul(mask);
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
  const Tensor factors = in_compute_type(self.to(result.scalar_type()));
  return in_compute_type(grad).mul(productOfOthers(factors.reshape({-1}), 0).reshape(self.sizes()));
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return grad.clone();
  const int64_t d = wrap(dim, self.dim());
  if (self.numel() == 0) return zeros_like(self);
  const Tensor factors = in_compute_type(self.to(result.scalar_type()));
  return in_compute_type(keepdim ? grad : grad.unsqueeze(d)).mul(productOfOthers(factors, d));
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dims,
                          bool keepdim) {
  const auto restored = [&](const Tensor& t) { return restore_reduced_dims(t, self.dim(), dims, keepdim); };
  // Where all elements are -inf none has a part in the result: 0, where -inf less -inf would be NaN.
  const Tensor none = result.eq(Scalar(-std::numeric_limits<double>::infinity()));
  return restored(grad).mul(self.sub(restored(result.masked_fill(none, 0))).exp());
}

Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dims, std::optional<int64_t> correction,
                    bool keepdim) {
  const auto freedom = static_cast<double>(countReduced(self.sizes(), dims) - correction.value_or(1));
  const Tensor g = in_compute_type(grad), x = in_compute_type(self);
  const Tensor restored = restore_reduced_dims(g, self.dim(), dims ? *dims : IntArrayRef(), keepdim);
  const Tensor mean = ops::mean_dim::call(x, dims, true, std::nullopt);
  return restored.mul(Scalar(2.0 / freedom)).mul(x.sub(mean));
}

Tensor std_backward(const Tensor& grad, const Tensor& result, const Tensor& self, OptionalIntArrayRef dims,
                    std::optional<int64_t> correction, bool keepdim) {
  // Divided by 1 where it is 0: there the division's own gradient would be NaN.
  const Tensor none = result.eq(0), twice = in_compute_type(result).mul(2).masked_fill(none, 1);
  const Tensor grad_var = zero_where(none, in_compute_type(grad).div(twice));
  return var_backward(grad_var, self, dims, correction, keepdim);
}

namespace {

/// `grad`, which may be undefined, and the mean's.
Tensor addMeanBackward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dims,
                       bool keepdim) {
  if (!grad_mean.defined()) return grad;
  const Tensor of_mean = mean_backward(grad_mean, self.sizes(), dims, keepdim);
  return grad.defined() ? grad.add(of_mean) : of_mean;
}

}  // namespace

Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dims,
                         std::optional<int64_t> correction, bool keepdim) {
  const Tensor grad = grad_var.defined() ? var_backward(grad_var, self, dims, correction, keepdim) : Tensor();
  return addMeanBackward(grad, grad_mean, self, dims, keepdim);
}

Tensor std_mean_backward(const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& std,
                         OptionalIntArrayRef dims, std::optional<int64_t> correction, bool keepdim) {
  const Tensor grad = grad_std.defined() ? std_backward(grad_std, std, self, dims, correction, keepdim) : Tensor();
  return addMeanBackward(grad, grad_mean, self, dims, keepdim);
}

namespace {

/// Of the largest or smallest magnitude: elements that have it share.
Tensor extremeNormBackward(const Tensor& grad, const Tensor& self, const Tensor& norm, OptionalIntArrayRef dims) {
  const Tensor chosen = self.abs().eq(norm).logical_or(self.isnan().logical_and(norm.isnan()));
  const Tensor mask = chosen.to(grad.scalar_type());
  return self.sign().mul(mask).mul(grad.div(ops::sum_dim_IntList::call(mask, dims, true, std::nullopt)));
}

/// Of the power p > 0. `norm` is 1 where there is `none`.
Tensor powerNormBackward(const Tensor& grad, const Tensor& self, const Tensor& norm, const Tensor& none, double p) {
  if (p < 1) {
    const Tensor flat = self.eq(0), powers = self.abs().masked_fill(flat, 1).pow(p - 1);
    return self.sign().mul(zero_where(flat, powers)).mul(grad).mul(zero_where(none, norm.pow(1 - p)));
  }
  return self.sign().mul(self.abs().pow(p - 1)).mul(zero_where(none, grad.div(norm.pow(p - 1))));
}

}  // namespace

Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& order, const Tensor& norm,
                     OptionalIntArrayRef dims, bool keepdim) {
  const double p = order ? order->toDouble() : 2.0;
  if (p == 0) return Tensor();
  const auto restored = [&](const Tensor& t) {
    return restore_reduced_dims(in_compute_type(t), self.dim(), dims ? *dims : IntArrayRef(), keepdim);
  };
  const Tensor x = in_compute_type(self), g = restored(grad), n = restored(norm);
  if (p == 1) return x.sign().mul(g);
  if (std::isinf(p)) return extremeNormBackward(g, x, n, dims);
  const Tensor none = n.eq(0), safe = n.masked_fill(none, 1);
  if (p == 2) return g.mul(zero_where(none, x.div(safe)));
  return powerNormBackward(g, x, safe, none, p);
}

Tensor trace_backward(const Tensor& grad, IntArrayRef sizes) {
  return ops::diagonal_backward::call(grad.expand({std::min(sizes[0], sizes[1])}), sizes, 0, 0, 1);
}

}  // namespace shunt::autograd
