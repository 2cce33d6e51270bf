// What cross_entropy is made of: _log_softmax and nll_loss, with their backwards, for matrices of scores.
#include "operands.h"

namespace opencl {
namespace {

using namespace shunt;

const std::string kLogSoftmax = kLayoutSource + R"(
// Scores and results as [rows, classes].
__kernel void log_softmax(Layout l, __global float* out, __global const float* in) {
  long row = get_global_id(0) * l.sizes[1];
  float largest = -INFINITY, sum = 0;
  for (long c = 0; c < l.sizes[1]; ++c) largest = fmax(largest, in[at(&l, 1, row + c)]);
  for (long c = 0; c < l.sizes[1]; ++c) sum += exp(in[at(&l, 1, row + c)] - largest);
  for (long c = 0; c < l.sizes[1]; ++c) out[at(&l, 0, row + c)] = in[at(&l, 1, row + c)] - largest - log(sum);
}
__kernel void log_softmax_backward(Layout l, __global float* out, __global const float* grad, __global const float* result) {
  long row = get_global_id(0) * l.sizes[1];
  float sum = 0;
  for (long c = 0; c < l.sizes[1]; ++c) sum += grad[at(&l, 1, row + c)];
  for (long c = 0; c < l.sizes[1]; ++c) out[at(&l, 0, row + c)] = grad[at(&l, 1, row + c)] - exp(result[at(&l, 2, row + c)]) * sum;
})";

bool isMatrix(const Tensor& t, int64_t dim) { return isServed(t) && t.dim() == 2 && (dim == 1 || dim == -1); }

Tensor logSoftmax(const Tensor& self, int64_t dim, bool half_to_float) {
  if (!isMatrix(self, dim)) return call_fallback_fn<&cpu_fallback, ops::_log_softmax>::call(self, dim, half_to_float);
  const Tensor out = empty(self.sizes(), self.options());
  Runtime::get().run(self.device(), kLogSoftmax, "log_softmax", {static_cast<size_t>(self.size(0))},
                     layoutOf({out, self}), bufferOf(out), bufferOf(self));
  return out;
}

Tensor logSoftmaxBackward(const Tensor& grad, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  if (!isMatrix(grad, dim) || !isMatrix(output, dim) || input_dtype != kFloat)
    return call_fallback_fn<&cpu_fallback, ops::_log_softmax_backward_data>::call(grad, output, dim, input_dtype);
  const Tensor out = empty(grad.sizes(), grad.options());
  Runtime::get().run(grad.device(), kLogSoftmax, "log_softmax_backward", {static_cast<size_t>(grad.size(0))},
                     layoutOf({out, grad, output}), bufferOf(out), bufferOf(grad), bufferOf(output));
  return out;
}

const std::string kNllLoss = kLayoutSource + R"(
// The mean (reduction 1) or sum of minus each row's score at its target; total: how many rows count. A target that is no class
// gives NaN: kernels can't throw.
__kernel void nll_loss(Layout l, Layout t, long ignored, int mean, __global float* out, __global float* total, __global const float* scores,
                       __global const long* targets) {
  float sum = 0, rows = 0;
  for (long r = 0; r < l.sizes[0]; ++r) {
    long target = targets[at(&t, 0, r)];
    if (target == ignored) continue;
    sum -= target < 0 || target >= l.sizes[1] ? NAN : scores[at(&l, 0, r * l.sizes[1] + target)];
    rows += 1;
  }
  *out = mean ? sum / rows : sum;
  *total = rows;
}
__kernel void nll_loss_backward(Layout l, Layout t, long ignored, int mean, __global float* out, __global const float* grad, long at_grad,
                                __global const float* total, long at_total, __global const long* targets) {
  long i = get_global_id(0), row = i / l.sizes[1], target = targets[at(&t, 0, row)];
  float value = mean ? -grad[at_grad] / total[at_total] : -grad[at_grad];
  out[at(&l, 0, i)] = target != ignored && target == i % l.sizes[1] ? value : 0;
})";

bool isServedHere(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  return isMatrix(self, 1) && onDevice(target) && target.device() == self.device() && target.dtype() == kLong &&
         target.dim() == 1 && target.size(0) == self.size(0) && self.numel() != 0 && !(weight && weight->defined()) &&
         reduction != Reduction::None;
}

std::tuple<Tensor, Tensor> nllLoss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                                   int64_t reduction, int64_t ignore_index) {
  if (!isServedHere(self, target, weight, reduction))
    return call_fallback_fn<&cpu_fallback, ops::nll_loss_forward>::call(self, target, weight, reduction, ignore_index);
  const Tensor out = empty({}, self.options()), total = empty({}, self.options());
  Runtime::get().run(self.device(), kNllLoss, "nll_loss", {1}, layoutOf({self}), layoutOf({target}),
                     static_cast<cl_long>(ignore_index), static_cast<cl_int>(reduction == Reduction::Mean),
                     bufferOf(out), bufferOf(total), bufferOf(self), bufferOf(target));
  return {out, total};
}

Tensor nllLossBackward(const Tensor& grad, const Tensor& self, const Tensor& target,
                       const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                       const Tensor& total) {
  if (!isServedHere(self, target, weight, reduction) || !isServed(grad) || !isServed(total))
    return call_fallback_fn<&cpu_fallback, ops::nll_loss_backward>::call(grad, self, target, weight, reduction,
                                                                         ignore_index, total);
  const Tensor out = empty(self.sizes(), self.options());
  Runtime::get().run(self.device(), kNllLoss, "nll_loss_backward", {static_cast<size_t>(out.numel())}, layoutOf({out}),
                     layoutOf({target}), static_cast<cl_long>(ignore_index),
                     static_cast<cl_int>(reduction == Reduction::Mean), bufferOf(out), bufferOf(grad),
                     static_cast<cl_long>(grad.storage_offset()), bufferOf(total),
                     static_cast<cl_long>(total.storage_offset()), bufferOf(target));
  return out;
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_log_softmax", &logSoftmax);
  m.impl("_log_softmax_backward_data", &logSoftmaxBackward);
  m.impl("nll_loss_forward", &nllLoss);
  m.impl("nll_loss_backward", &nllLossBackward);
}

}  // namespace opencl
