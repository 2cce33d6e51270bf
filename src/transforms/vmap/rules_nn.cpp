// Rules of layer_norm and of the pointwise losses, which reduce over what they take for their own batch: here that is
// one sample's.
#include "src/transforms/vmap/aligned.h"

#include <shunt/ops.h>

#include <array>

namespace shunt::levels::rules {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kSum = 2;

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> dims;
  for (int64_t d = first; d < end; ++d) dims.push_back(d);
  return dims;
}

Tensor sumOver(const Tensor& t, const std::vector<int64_t>& dims) {
  return dims.empty() ? t : ops::sum_dim_IntList::call(t, dims, false, std::nullopt);
}

// ---- layer_norm ---------------------------------------------------------------------------------------------------
/// A parameter beside values of that many dimensions.
Tensor besideValues(const BatchedCall& call, const Tensor& parameter, int64_t dims) {
  return aligned(call, parameter, dims - 1);
}

/// (input - mean) * rstd. Where it is differentiated once more, mean and rstd are functions of the input; what was
/// added to the variance follows from rstd.
Tensor normalized(const Tensor& input, const Tensor& mean, const Tensor& rstd, const std::vector<int64_t>& dims) {
  if (!GradMode::is_enabled() || !(input.requires_grad() || isWrapper(input))) return input.sub(mean).mul(rstd);
  const Tensor centred = input.sub(input.mean(IntArrayRef(dims), true));
  const Tensor variance = centred.mul(centred).mean(IntArrayRef(dims), true);
  const Tensor eps = rstd.mul(rstd).reciprocal().sub(variance).detach();
  return centred.mul(variance.add(eps).rsqrt());
}

}  // namespace

void layerNorm(BatchedCall& call) {
  const Tensor input = call.expanded(call.tensor(0));
  const std::vector<int64_t> shape = call.integers(1);
  const Tensor weight = call.optionalTensor(2), bias = call.optionalTensor(3);
  const bool fused = !(weight.defined() && call.isBatched(weight)) && !(bias.defined() && call.isBatched(bias));
  const auto optional = [](const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; };
  auto [out, mean, rstd] = ops::native_layer_norm::call(input, shape, fused ? optional(weight) : std::nullopt,
                                                        fused ? optional(bias) : std::nullopt, call.args[4].toDouble());
  if (!fused && weight.defined()) out = ops::mul_Tensor::call(out, besideValues(call, weight, input.dim()));
  if (!fused && bias.defined()) out = ops::add_Tensor::call(out, besideValues(call, bias, input.dim()), 1);
  for (Tensor* t : {&out, &mean, &rstd}) call.addResult(std::move(*t));
}

void layerNormBackward(BatchedCall& call) {
  if (!call.tensor(1).is_floating_point() || call.integers(2).empty()) return loopSilently(call);  // which refuses it
  const Tensor grad = call.expanded(call.tensor(0)), input = call.expanded(call.tensor(1));
  const Tensor mean = call.expanded(call.tensor(3)), rstd = call.expanded(call.tensor(4));
  const std::vector<int64_t> shape = call.integers(2);
  const Tensor weight = call.optionalTensor(5);
  const std::vector<char>& mask = call.args[7].toBoolVector();
  const std::vector<int64_t> rows = range(1, input.dim() - static_cast<int64_t>(shape.size()));
  Tensor to_input, to_weight, to_bias;
  if (mask[0]) {
    const bool own = weight.defined() && call.isBatched(weight);
    const Tensor scaled = own ? ops::mul_Tensor::call(grad, besideValues(call, weight, input.dim())) : grad;
    const auto shared = weight.defined() && !own ? std::optional<Tensor>(weight) : std::nullopt;
    to_input = std::get<0>(ops::native_layer_norm_backward::call(scaled, input, shape, mean, rstd, shared, std::nullopt,
                                                                 std::array<bool, 3>{true, false, false}));
  }
  if (mask[1]) {
    const Tensor y =
        normalized(input, mean, rstd, range(input.dim() - static_cast<int64_t>(shape.size()), input.dim()));
    to_weight = sumOver(ops::mul_Tensor::call(grad, y), rows);
  }
  if (mask[2]) to_bias = sumOver(grad, rows);
  for (Tensor* t : {&to_input, &to_weight, &to_bias}) call.addResult(std::move(*t));
}

// ---- losses of differences ----------------------------------------------------------------------------------------
void pointwiseLoss(BatchedCall& call) {
  const int64_t dims = mostDims(call), reduction = call.integer(2);
  Stack values = call.args;
  for (size_t i : {0, 1}) values[i] = IValue(aligned(call, call.tensor(i), dims));
  values[2] = IValue(kNone);
  call.op.callBoxed(&values);
  const Tensor each = values[0].toTensor();
  if (reduction == kNone) return call.setResult(each);
  const Tensor wide = each.dim() == 1 ? ops::unsqueeze::call(each, 1) : each;
  const std::vector<int64_t> all = range(1, wide.dim());
  SHUNT_CHECK(reduction == kMean || reduction == kSum, reduction,
              " is not a valid value for reduction: expected 0 (none), 1 (mean) or 2 (sum)");
  call.setResult(reduction == kMean ? ops::mean_dim::call(wide, all, false, std::nullopt)
                                    : ops::sum_dim_IntList::call(wide, all, false, std::nullopt));
}

void pointwiseLossBackward(BatchedCall& call) {
  const int64_t reduction = call.integer(3);
  // Of whole numbers the mean is rounded inside of the operator.
  if (!call.tensor(0).is_floating_point()) return loopSilently(call);
  int64_t dims = std::max(call.tensor(1).dim(), call.tensor(2).dim());
  dims = std::max(dims, call.tensor(0).dim());
  Stack values = call.args;
  for (size_t i : {0, 1, 2}) values[i] = IValue(aligned(call, call.tensor(i), dims));
  // Divided by the elements of one sample, not of the batch.
  if (reduction == kMean)
    values[0] = IValue(
        ops::div_Scalar::call(values[0].toTensor(), static_cast<double>(std::max<int64_t>(call.tensor(1).numel(), 1))));
  values[3] = IValue(kNone);
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

}  // namespace shunt::levels::rules
