// Composite operators of networks: linear, softmax, log_softmax, layer_norm, nll_loss, cross_entropy_loss, dropout.
// They call other operators and nothing else, so autograd, autocast and modes see those.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/direct_linear.h"
#include "kernels/nn/reduction.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {

using nn::LossReduction;

// Rarer forms have names of their own here, so that a thunk holds the usual one and calls these.

SHUNT_NOINLINE Tensor linearOfBatch(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const int64_t rows = input.size(0) * input.size(1);
  const Tensor flat = ops::addmm::call(bias, ops::view::call(input, {rows, input.size(2)}), ops::t::call(weight), 1, 1);
  return ops::view::call(flat, {input.size(0), input.size(1), flat.size(1)});
}

/// Inside vmap, where samples may have a product in common and a bias each: what add_ would make of each product.
SHUNT_NOINLINE Tensor plusBiasOfSamples(const Tensor& product, const Tensor& bias) {
  const Tensor sum = ops::add_Tensor::call(product, bias, 1);
  SHUNT_CHECK(sum.sizes() == product.sizes(), "linear(): output with shape ", product.sizes(),
              " doesn't match the broadcast shape ", sum.sizes(), " with bias of shape ", bias.sizes());
  if (sum.dtype() == product.dtype()) return sum;
  SHUNT_CHECK(canCast(sum.scalar_type(), product.scalar_type()), "linear(): result type ", sum.scalar_type(),
              " can't be cast to the desired output type ", product.scalar_type());
  return ops::to_dtype::call(sum, product.scalar_type(), false, false, std::nullopt);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (!input.defined() || !weight.defined()) [[unlikely]]
    throwUndefinedArgument("linear", input.defined() ? "weight" : "input");
  const bool biased = bias && bias->defined();
  if (biased && input.dim() == 2) {
    if (Tensor result = directLinear(input, weight, *bias); result.defined()) return result;
    return ops::addmm::call(*bias, input, ops::t::call(weight), 1, 1);
  }
  if (biased && input.dim() == 3 && input.is_contiguous()) return linearOfBatch(input, weight, *bias);
  Tensor product = ops::matmul::call(input, ops::t::call(weight));
  if (!biased) return product;
  // In place: the bias neither enlarges the result nor changes its dtype.
  if (bias->key_set().has(Functionality::Batched)) [[unlikely]]
    return plusBiasOfSamples(product, *bias);
  return ops::add__Tensor::call(product, *bias, 1);
}

Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  if (!dtype) return ops::_softmax::call(self, dim, false);
  return ops::_softmax::call(ops::to_dtype::call(self, *dtype, false, false, std::nullopt), dim, false);
}

Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  if (!dtype) return ops::_log_softmax::call(self, dim, false);
  return ops::_log_softmax::call(ops::to_dtype::call(self, *dtype, false, false, std::nullopt), dim, false);
}

namespace {

/// Whether the bias can be added to the product without changing its shape. If not the functional form says so, before
/// `out` is written to.
bool addsInPlace(const Tensor& bias, const Tensor& input, const Tensor& weight) {
  if (input.dim() == 0 || weight.dim() == 0) return true;  // the product's own error
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end() - 1);
  if (weight.dim() > 1) sizes.push_back(weight.size(0));
  return is_expandable_to(bias.sizes(), sizes);
}

}  // namespace

Tensor& linear_out(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out) {
  if (!input.defined() || !weight.defined()) [[unlikely]]
    throwUndefinedArgument("linear", input.defined() ? "weight" : "input");
  if (autograd::compute_requires_grad(input, weight, bias, out)) autograd::throw_error_out_requires_grad("linear");
  const bool biased = bias && bias->defined();
  if (biased && input.dim() == 2) return ops::addmm_out::call(*bias, input, ops::t::call(weight), 1, 1, out);
  if (biased && out.defined() && (out.is_alias_of(*bias) || !addsInPlace(*bias, input, weight)))
    return wrappers::copyToOut("linear", out, linear(input, weight, bias));
  ops::matmul_out::call(input, ops::t::call(weight), out);
  return biased ? ops::add__Tensor::call(out, *bias, 1) : out;
}

Tensor& softmax_out(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Tensor& out) {
  if (!dtype) return ops::_softmax_out::call(self, dim, false, out);
  return ops::_softmax_out::call(ops::to_dtype::call(self, *dtype, false, false, std::nullopt), dim, false, out);
}

Tensor& log_softmax_out(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Tensor& out) {
  if (!dtype) return ops::_log_softmax_out::call(self, dim, false, out);
  return ops::_log_softmax_out::call(ops::to_dtype::call(self, *dtype, false, false, std::nullopt), dim, false, out);
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool) {
  return std::get<0>(ops::native_layer_norm::call(input, normalized_shape, weight, bias, eps));
}

Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                int64_t ignore_index) {
  return std::get<0>(ops::nll_loss_forward::call(self, target, weight, reduction, ignore_index));
}

/// N x C x d1 x ... with N x d1 x ... targets: every position is a sample of its own.
SHUNT_NOINLINE Tensor nllLossOfPositions(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                                         int64_t reduction, int64_t ignore_index) {
  const int64_t classes = self.size(1);
  SHUNT_CHECK(target.dtype() == kLong, "expected scalar type Long but found ", target.dtype(),
              " for argument 'target', which holds class numbers");
  bool same = target.dim() == self.dim() - 1 && target.size(0) == self.size(0);
  for (int64_t d = 1; same && d < target.dim(); ++d) same = target.size(d) == self.size(d + 1);
  SHUNT_CHECK(same, "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
  std::vector<int64_t> order = {0};
  for (int64_t d = 2; d < self.dim(); ++d) order.push_back(d);
  order.push_back(1);
  const Tensor samples = ops::reshape::call(ops::permute::call(self, order), {-1, classes});
  const Tensor flat_target = ops::reshape::call(target, {-1});
  const Tensor loss = nll_loss(samples, flat_target, weight, reduction, ignore_index);
  return reduction == static_cast<int64_t>(LossReduction::kNone) ? ops::reshape::call(loss, target.sizes()) : loss;
}

/// What counts and sums over samples of `dtype` are kept in until they have been divided by each other.
SHUNT_NOINLINE std::optional<ScalarType> typeOfCounts(ScalarType dtype) {
  return dtype == kHalf || dtype == kBFloat16 ? std::optional(kFloat) : std::nullopt;
}

SHUNT_NOINLINE Tensor roundedTo(const Tensor& t, ScalarType dtype) {
  return t.scalar_type() == dtype ? t : ops::to_dtype::call(t, dtype, false, false, std::nullopt);
}

/// Targets are probabilities of the classes, in the input's shape.
SHUNT_NOINLINE Tensor crossEntropyOfProbabilities(const Tensor& self, const Tensor& target,
                                                  const std::optional<Tensor>& weight, int64_t reduction,
                                                  double smoothing) {
  SHUNT_CHECK(target.is_floating_point(), "Expected floating point type for target with class probabilities, got ",
              target.dtype());
  const LossReduction how = nn::lossReduction(reduction);
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const int64_t classes = self.size(class_dim);
  Tensor wanted = target;
  if (smoothing > 0)
    wanted = ops::add_Scalar::call(ops::mul_Scalar::call(target, 1 - smoothing),
                                   smoothing / static_cast<double>(classes), 1);
  Tensor product = ops::mul_Tensor::call(log_softmax(self, class_dim, std::nullopt), wanted);
  if (weight && weight->defined()) {
    SHUNT_CHECK(weight->dim() == 1 && weight->numel() == classes,
                "cross_entropy: weight tensor should be defined either for all ", classes,
                " classes or no classes but got weight tensor of shape: ", weight->sizes());
    std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
    shape[static_cast<size_t>(class_dim)] = classes;
    product = ops::mul_Tensor::call(product, ops::view::call(*weight, shape));
  }
  if (how == LossReduction::kNone)
    return ops::neg::call(ops::sum_dim_IntList::call(product, class_dim, false, std::nullopt));
  const bool mean = how == LossReduction::kMean;
  const Tensor total =
      ops::neg::call(ops::sum::call(product, mean ? typeOfCounts(product.scalar_type()) : std::nullopt));
  if (!mean) return total;
  const double samples = static_cast<double>(self.numel()) / static_cast<double>(classes);
  return roundedTo(ops::div_Scalar::call(total, samples), product.scalar_type());
}

/// (1 - s) * nll + s / C * (sum over classes of the weighted -log p), ignored samples left out.
SHUNT_NOINLINE Tensor smoothedCrossEntropy(const Tensor& self, const Tensor& target,
                                           const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                                           double smoothing) {
  const LossReduction how = nn::lossReduction(reduction);
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const int64_t classes = self.size(class_dim);
  const bool weighted = weight && weight->defined();
  const Tensor log_p = log_softmax(self, class_dim, std::nullopt);
  const Tensor nll = nll_loss_nd(log_p, target, weight, reduction, ignore_index);
  Tensor per_class = log_p;
  if (weighted) {
    SHUNT_CHECK(weight->dim() == 1 && weight->numel() == classes,
                "cross_entropy: weight tensor should be defined either for all ", classes,
                " classes or no classes but got weight tensor of shape: ", weight->sizes());
    std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
    shape[static_cast<size_t>(class_dim)] = classes;
    per_class = ops::mul_Tensor::call(log_p, ops::view::call(*weight, shape));
  }
  const Tensor ignored = ops::eq_Scalar::call(target, ignore_index);
  Tensor smooth = ops::neg::call(ops::sum_dim_IntList::call(per_class, class_dim, false, std::nullopt));
  smooth = ops::masked_fill_Scalar::call(smooth, ignored, 0);
  const ScalarType dtype = smooth.scalar_type();
  const std::optional<ScalarType> wide = typeOfCounts(dtype);
  if (how != LossReduction::kNone) smooth = ops::sum::call(smooth, how == LossReduction::kMean ? wide : std::nullopt);
  if (how == LossReduction::kMean) {
    Tensor samples =
        ops::to_dtype::call(ops::logical_not::call(ignored), wide.value_or(self.dtype()), false, false, std::nullopt);
    if (weighted) {
      const Tensor safe_target = ops::masked_fill_Scalar::call(target, ignored, 0);
      const Tensor chosen = ops::index_select::call(*weight, 0, ops::reshape::call(safe_target, {-1}));
      samples = ops::mul_Tensor::call(samples, ops::reshape::call(chosen, target.sizes()));
    }
    smooth = roundedTo(ops::div_Tensor::call(smooth, ops::sum::call(samples, std::nullopt)), dtype);
  }
  return ops::add_Tensor::call(ops::mul_Scalar::call(nll, 1 - smoothing), smooth,
                               smoothing / static_cast<double>(classes));
}

Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                   int64_t ignore_index) {
  SHUNT_CHECK_VALUE(self.dim() > 0, "Expected 1 or more dimensions (got ", self.dim(), ")");
  SHUNT_CHECK_VALUE(self.dim() == 1 || (target.dim() > 0 && self.size(0) == target.size(0)),
                    "Expected input batch_size (", self.size(0), ") to match target batch_size (",
                    target.dim() > 0 ? target.size(0) : 0, ").");
  if (self.dim() <= 2) return nll_loss(self, target, weight, reduction, ignore_index);
  return nllLossOfPositions(self, target, weight, reduction, ignore_index);
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                          int64_t reduction, int64_t ignore_index, double label_smoothing) {
  SHUNT_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
              "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  if (self.sizes() == target.sizes()) {
    SHUNT_CHECK(ignore_index < 0, "ignore_index is not supported for floating point target");
    return crossEntropyOfProbabilities(self, target, weight, reduction, label_smoothing);
  }
  if (label_smoothing > 0) return smoothedCrossEntropy(self, target, weight, reduction, ignore_index, label_smoothing);
  const Tensor log_p = log_softmax(self, self.dim() == 1 ? 0 : 1, std::nullopt);
  return nll_loss_nd(log_p, target, weight, reduction, ignore_index);
}

Tensor dropout(const Tensor& input, double p, bool train) {
  SHUNT_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1)
    return ops::mul_Tensor::call(input,
                                 ops::zeros::call({}, input.scalar_type(), std::nullopt, input.device(), std::nullopt));
  // Said before numbers are drawn.
  SHUNT_CHECK(input.is_floating_point(), "dropout(): result type ", get_default_dtype(),
              " can't be cast to the desired output type ", input.scalar_type());
  Tensor kept =
      ops::empty_like::call(input, std::nullopt, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::Contiguous);
  ops::bernoulli__float::call(kept, 1 - p, std::nullopt);
  ops::div__Scalar::call(kept, 1 - p);
  return ops::mul_Tensor::call(input, kept);
}

}  // namespace shunt::native
