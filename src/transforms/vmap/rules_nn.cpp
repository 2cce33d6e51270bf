// Rules of layer_norm and of the pointwise losses, which reduce over what they take for their own batch: here that is
// one sample's.
#include "src/transforms/vmap/aligned.h"
#include "src/transforms/vmap/promotion.h"

#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

#include <array>

namespace shunt::levels::rules {
namespace {

constexpr int64_t kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum;

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> dims;
  for (int64_t d = first; d < end; ++d) dims.push_back(d);
  return dims;
}

Tensor inDtype(const Tensor& t, ScalarType dtype) {
  return t.dtype() == dtype ? t : ops::to_dtype::call(t, dtype, false, false, std::nullopt);
}

Tensor sumOver(const Tensor& t, const std::vector<int64_t>& dims, ScalarType dtype) {
  return inDtype(dims.empty() ? t : ops::sum_dim_IntList::call(t, dims, false, std::nullopt), dtype);
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

namespace {

bool areSamples(const BatchedCall& call, const Tensor& t) { return t.defined() && call.isBatched(t); }

/// The dtype of mean and rstd where samples have parameters of their own, which the operator never sees. What it has to
/// say against one sample's it says of others like them, beside an input without rows.
ScalarType statisticsOf(const BatchedCall& call, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const std::vector<int64_t> shape = call.integers(1);
  const auto is_usual = [&](const Tensor& t) {
    return !t.defined() || (t.dtype() == input.dtype() && t.sizes() == IntArrayRef(shape));
  };
  if (is_usual(weight) && is_usual(bias)) return input.scalar_type();
  const auto like = [](const Tensor& t) -> std::optional<Tensor> {
    if (!t.defined()) return std::nullopt;
    return ops::zeros::call(t.sizes(), t.scalar_type(), std::nullopt, t.device(), std::nullopt);
  };
  const NoGradGuard no_grad;
  const Tensor none = ops::slice_Tensor::call(input, 0, 0, 0, 1);
  return std::get<1>(ops::native_layer_norm::call(none, shape, like(weight), like(bias), call.args[4].toDouble()))
      .scalar_type();
}

/// The dtype in which rows of parameters of their own are scaled, so that 16-bit results are rounded once, as the
/// operator does.
ScalarType wideOf(ScalarType t) { return t == kHalf || t == kBFloat16 ? kFloat : t; }

/// Parameters for each sample.
void layerNormOfParameters(BatchedCall& call, const Tensor& weight, const Tensor& bias) {
  const Tensor input = call.expanded(call.tensor(0));
  const ScalarType statistics = statisticsOf(call, input, weight, bias);
  const ScalarType wide = wideOf(input.scalar_type());
  auto [out, mean, rstd] = ops::native_layer_norm::call(inDtype(input, wide), call.integers(1), std::nullopt,
                                                        std::nullopt, call.args[4].toDouble());
  const auto parameter = [&](const Tensor& t) { return inDtype(besideValues(call, t, input.dim()), wide); };
  if (weight.defined()) out = ops::mul_Tensor::call(out, parameter(weight));
  if (bias.defined()) out = ops::add_Tensor::call(out, parameter(bias), 1);
  call.addResult(inDtype(out, input.scalar_type()));
  for (const Tensor& t : {mean, rstd}) call.addResult(inDtype(t, statistics));
}

/// Whether the shape is that of a sample's last dimensions. With a batch in front it may fit where it shouldn't.
bool isWithinSample(const Tensor& input, const std::vector<int64_t>& shape) {
  return !shape.empty() && static_cast<int64_t>(shape.size()) <= input.dim();
}

}  // namespace

void layerNorm(BatchedCall& call) {
  const std::vector<int64_t> shape = call.integers(1);
  const Tensor weight = call.optionalTensor(2), bias = call.optionalTensor(3);
  if (!call.tensor(0).is_floating_point() || !isWithinSample(call.tensor(0), shape)) return loopSilently(call);
  if (areSamples(call, weight) || areSamples(call, bias)) return layerNormOfParameters(call, weight, bias);
  const auto optional = [](const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; };
  auto [out, mean, rstd] = ops::native_layer_norm::call(call.expanded(call.tensor(0)), shape, optional(weight),
                                                        optional(bias), call.args[4].toDouble());
  for (Tensor* t : {&out, &mean, &rstd}) call.addResult(std::move(*t));
}

namespace {

/// Whether the operator has nothing to say against one sample's arguments.
bool isGoodNormGradient(const BatchedCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1), &mean = call.tensor(3), &rstd = call.tensor(4);
  const std::vector<int64_t> shape = call.integers(2);
  if (!input.defined() || !input.is_floating_point() || !isWithinSample(input, shape)) return false;
  const IntArrayRef sizes = input.sizes(), normalized(shape);
  const Tensor weight = call.optionalTensor(5), bias = call.optionalTensor(6);
  const ScalarType type = weight.defined() ? weight.scalar_type()
                          : bias.defined() ? bias.scalar_type()
                                           : input.scalar_type();
  const bool fits = type == input.scalar_type() || (type == kFloat && wideOf(input.scalar_type()) == kFloat);
  const auto is_parameter = [&](const Tensor& t) {
    return !t.defined() || (t.sizes() == normalized && t.scalar_type() == type);
  };
  std::vector<int64_t> rows = sizes.vec();
  std::fill(rows.end() - static_cast<ptrdiff_t>(shape.size()), rows.end(), 1);
  const auto is_statistic = [&](const Tensor& t) {
    return t.defined() && t.scalar_type() == type && t.sizes() == IntArrayRef(rows);
  };
  const std::vector<char>& mask = call.args[7].toBoolVector();
  return fits && sizes.slice(sizes.size() - shape.size()) == normalized && grad.defined() && grad.sizes() == sizes &&
         grad.dtype() == input.dtype() && is_parameter(weight) && is_parameter(bias) && is_statistic(mean) &&
         is_statistic(rstd) && mask.size() == 3 && (!mask[1] || weight.defined()) && (!mask[2] || bias.defined());
}

/// Of all samples.
Tensor normGradientOfInput(const BatchedCall& call, const Tensor& grad, const Tensor& input, const Tensor& weight) {
  const bool own = areSamples(call, weight);
  const ScalarType dtype = input.scalar_type(), wide = own ? wideOf(dtype) : dtype;
  const auto statistic = [&](size_t i) {
    return own ? inDtype(call.expanded(call.tensor(i)), wide) : call.expanded(call.tensor(i));
  };
  Tensor scaled = inDtype(grad, wide);
  if (own) scaled = ops::mul_Tensor::call(scaled, inDtype(besideValues(call, weight, input.dim()), wide));
  const auto shared = weight.defined() && !own ? std::optional<Tensor>(weight) : std::nullopt;
  const Tensor result = std::get<0>(
      ops::native_layer_norm_backward::call(scaled, inDtype(input, wide), call.integers(2), statistic(3), statistic(4),
                                            shared, std::nullopt, std::array<bool, 3>{true, false, false}));
  return inDtype(result, dtype);
}

}  // namespace

void layerNormBackward(BatchedCall& call) {
  if (!isGoodNormGradient(call)) return loopSilently(call);  // which refuses it
  const Tensor grad = call.expanded(call.tensor(0)), input = call.expanded(call.tensor(1));
  const auto count = static_cast<int64_t>(call.integers(2).size());
  const Tensor weight = call.optionalTensor(5), bias = call.optionalTensor(6);
  const std::vector<char>& mask = call.args[7].toBoolVector();
  const std::vector<int64_t> rows = range(1, input.dim() - count);
  Tensor to_input, to_weight, to_bias;
  if (mask[0]) to_input = normGradientOfInput(call, grad, input, weight);
  if (mask[1]) {
    const Tensor y = normalized(input, call.expanded(call.tensor(3)), call.expanded(call.tensor(4)),
                                range(input.dim() - count, input.dim()));
    to_weight = sumOver(ops::mul_Tensor::call(grad, y), rows, weight.scalar_type());
  }
  if (mask[2]) to_bias = sumOver(grad, rows, bias.scalar_type());
  for (Tensor* t : {&to_input, &to_weight, &to_bias}) call.addResult(std::move(*t));
}

// ---- losses of differences ----------------------------------------------------------------------------------------
namespace {

void checkReduction(int64_t reduction) {
  SHUNT_CHECK(reduction == kNone || reduction == kMean || reduction == kSum, reduction,
              " is not a valid value for reduction: expected 0 (none), 1 (mean) or 2 (sum)");
}

}  // namespace

void pointwiseLoss(BatchedCall& call) {
  const int64_t dims = mostDims(call), reduction = call.integer(2);
  Stack values = call.args;
  for (size_t i : {0, 1}) values[i] = IValue(aligned(call, call.tensor(i), dims));
  values[2] = IValue(kNone);
  checkReduction(reduction);
  keepPromotion(call, values);
  call.op.callBoxed(&values);
  const Tensor each = values[0].toTensor();
  if (reduction == kNone) return call.setResult(each);
  const Tensor wide = each.dim() == 1 ? ops::unsqueeze::call(each, 1) : each;
  const std::vector<int64_t> all = range(1, wide.dim());
  call.setResult(reduction == kMean ? ops::mean_dim::call(wide, all, false, std::nullopt)
                                    : ops::sum_dim_IntList::call(wide, all, false, std::nullopt));
}

void pointwiseLossBackward(BatchedCall& call) {
  const Tensor &grad = call.tensor(0), &self = call.tensor(1), &target = call.tensor(2);
  const int64_t reduction = call.integer(3);
  checkReduction(reduction);
  // Of whole numbers the mean is rounded inside of the operator.
  if (!grad.is_floating_point()) return loopSilently(call);
  // The result has the dtype of self where it has its shape, and else the common one.
  const bool has_shape_of_self =
      is_expandable_to(target.sizes(), self.sizes()) && is_expandable_to(grad.sizes(), self.sizes());
  if (!has_shape_of_self && mixesDtypes(call)) return loopSilently(call);
  const int64_t dims = std::max({grad.dim(), self.dim(), target.dim()});
  Stack values = call.args;
  for (size_t i : {0, 1, 2}) values[i] = IValue(aligned(call, call.tensor(i), dims));
  if (has_shape_of_self) values[1] = IValue(call.expanded(self));
  keepPromotion(call, values);
  // Divided by the elements of one sample, not of the batch, in the dtype in which the operator does it.
  if (reduction == kMean)
    values[0] = IValue(ops::div_Scalar::call(inDtype(values[0].toTensor(), commonDtype(call)),
                                             static_cast<double>(std::max<int64_t>(self.numel(), 1))));
  values[3] = IValue(kNone);
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

}  // namespace shunt::levels::rules
