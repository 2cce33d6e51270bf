// Rules of nll_loss, which reduces over what it takes for its own batch: here that is one sample's.
#include "src/transforms/vmap/of_samples.h"

#include <shunt/ops.h>

namespace shunt::levels {
namespace {

constexpr int64_t kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum;

bool isReduction(int64_t number) { return number == kNone || number == kMean || number == kSum; }

/// One target for each row, or one for the one row.
bool areTargets(const Tensor& target, const Tensor& scores) {
  return target.defined() &&
         (scores.dim() == 1 ? target.dim() == 0
                            : scores.dim() == 2 && target.dim() == 1 && target.size(0) == scores.size(0));
}

/// Whether the loss is one for each row.
bool isOfRows(const Tensor& scores, int64_t reduction) { return reduction == kNone && scores.dim() == 2; }

/// Whether it may be one of the loss that these scores have.
bool isGradientOf(const Tensor& scores, int64_t reduction, const Tensor& grad) {
  return scores.is_floating_point() && grad.defined() && grad.dtype() == scores.dtype() &&
         (isOfRows(scores, reduction) ? grad.dim() == 1 && grad.size(0) == scores.size(0)
                                      : grad.dim() <= 1 && grad.numel() == 1);
}

Tensor toDtype(const Tensor& t, ScalarType dtype) {
  return t.dtype() == dtype
             ? t
             : ops::_to_copy::call(t, dtype, std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
}

/// In that shape: the tensor itself where it has it.
Tensor shaped(const Tensor& t, IntArrayRef sizes) { return t.sizes() == sizes ? t : ops::reshape::call(t, sizes); }

/// Rows of all samples side by side: values [batch * n, classes], targets [batch * n].
struct Positions {
  int64_t batch;
  bool one_row;  // of each sample, which has no dimension of rows then
  int64_t rows;
  Tensor values, target;
};

Positions positionsOf(const BatchedCall& call, const Tensor& shown, const Tensor& shown_target, const Tensor& weight) {
  SHUNT_CHECK(shown.dim() == 1 || shown.dim() == 2, "input tensor should be 1D or 2D, got ", shown.dim(), "D");
  SHUNT_CHECK(!weight.defined() || !call.isBatched(weight),
              "nll_loss: weight can't be batched by vmap: each class has one weight");
  const bool one_row = shown.dim() == 1;
  const int64_t rows = one_row ? 1 : shown.size(0);
  return {call.size, one_row, rows, shaped(call.expanded(shown), {call.size * rows, shown.size(shown.dim() - 1)}),
          shaped(call.expanded(shown_target), {call.size * rows})};
}

/// Of one row and one target for each sample, with the batch in front; nothing for others.
std::optional<Positions> rowsOfSamples(const Level& level, const Tensor& shown, const Tensor& shown_target) {
  const Tensor *values = valueInFront(shown, level), *target = valueInFront(shown_target, level);
  if (values == nullptr || target == nullptr || shown.dim() != 1 || shown_target.dim() != 0) return std::nullopt;
  return Positions{level.size, true, 1, *values, *target};
}

std::optional<Tensor> sharedWeight(const Tensor& weight) {
  return weight.defined() ? std::optional<Tensor>(weight) : std::nullopt;
}

/// What each position counts in a mean: its target's weight, or 0 where it is ignored.
Tensor countOf(const Positions& p, const Tensor& weight, int64_t ignore_index) {
  if (!weight.defined()) return toDtype(ops::ne_Scalar::call(p.target, ignore_index), p.values.dtype());
  const Tensor minus_one = ops::full_like::call(p.values, Scalar(-1.0), std::nullopt, std::nullopt, std::nullopt,
                                                std::nullopt, std::nullopt);
  return std::get<0>(ops::nll_loss_forward::call(minus_one, p.target, weight, kNone, ignore_index));
}

/// [batch * rows] summed for each sample.
Tensor sumOfRows(const Positions& p, const Tensor& t) {
  if (p.one_row) return t;
  constexpr int64_t kRows = 1;
  return ops::sum_dim_IntList::call(ops::view::call(t, {p.batch, p.rows}), IntArrayRef(kRows), false, std::nullopt);
}

/// The results, and what each sample's total weight is.
std::tuple<Tensor, Tensor> lossOf(const Positions& p, const Tensor& weight, int64_t reduction, int64_t ignore_index) {
  const Tensor loss =
      std::get<0>(ops::nll_loss_forward::call(p.values, p.target, sharedWeight(weight), kNone, ignore_index));
  if (reduction == kNone && !p.one_row)
    return {ops::view::call(loss, {p.batch, p.rows}),
            ops::new_zeros::call(loss, {p.batch}, std::nullopt, std::nullopt, std::nullopt, std::nullopt)};
  const Tensor count = sumOfRows(p, countOf(p, weight, ignore_index));
  const Tensor total = sumOfRows(p, loss);
  return {reduction == kMean ? ops::div_Tensor::call(total, count) : total, count};
}

/// `grad`, and `total_weight` where it counts, with the batch in front. [batch * n, classes].
Tensor gradientOf(const Positions& p, Tensor grad, const Tensor& weight, int64_t reduction, int64_t ignore_index,
                  const Tensor& total_weight) {
  if (reduction == kMean) grad = ops::div_Tensor::call(grad, total_weight);
  if (grad.dim() == 1 && !p.one_row) grad = ops::expand::call(ops::unsqueeze::call(grad, 1), {p.batch, p.rows}, false);
  const Tensor flat = shaped(grad, {p.batch * p.rows});
  const Tensor none = ops::new_zeros::call(flat, {}, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  return ops::nll_loss_backward::call(toDtype(flat, p.values.dtype()), p.values, p.target, sharedWeight(weight), kNone,
                                      ignore_index, none);
}

}  // namespace

std::tuple<Tensor, Tensor> OfSamples<ops::nll_loss_forward>::call(const LevelFrame& frame, DispatchKeySet,
                                                                  const Tensor& self, const Tensor& target,
                                                                  const std::optional<Tensor>& weight,
                                                                  int64_t reduction, int64_t ignore_index) {
  const auto p = rowsOfSamples(frame.level(), self, target);
  if (!p || !isReduction(reduction) || (weight && weight->defined())) return {};
  countRule();
  const Outside outside;
  return lossOf(*p, Tensor(), reduction, ignore_index);
}

Tensor OfSamples<ops::nll_loss_backward>::call(const LevelFrame& frame, DispatchKeySet, const Tensor& grad_output,
                                               const Tensor& self, const Tensor& target,
                                               const std::optional<Tensor>& weight, int64_t reduction,
                                               int64_t ignore_index, const Tensor& total_weight) {
  const Level& level = frame.level();
  const auto p = rowsOfSamples(level, self, target);
  const Tensor *grad = valueInFront(grad_output, level), *total = valueInFront(total_weight, level);
  if (!p || grad == nullptr || total == nullptr || grad_output.dim() != 0 || total_weight.dim() != 0 ||
      !isGradientOf(self, reduction, grad_output) || total->dtype() != p->values.dtype() || !isReduction(reduction) ||
      (weight && weight->defined()))
    return {};
  countRule();
  const Outside outside;
  return gradientOf(*p, *grad, Tensor(), reduction, ignore_index, *total);
}

namespace rules {

void nllLoss(BatchedCall& call) {
  const Tensor weight = call.optionalTensor(2);
  if (!isReduction(call.integer(3)) || !areTargets(call.tensor(1), call.tensor(0)) ||
      (weight.defined() && call.isBatched(weight)))
    return loopSilently(call);
  auto [loss, total_weight] =
      lossOf(positionsOf(call, call.tensor(0), call.tensor(1), weight), weight, call.integer(3), call.integer(4));
  call.addResult(std::move(loss));
  call.addResult(std::move(total_weight));
}

void nllLossBackward(BatchedCall& call) {
  const Tensor &grad = call.tensor(0), &self = call.tensor(1), weight = call.optionalTensor(3);
  const Tensor total = call.optionalTensor(6);
  const int64_t reduction = call.integer(4);
  if (!isReduction(reduction) || !areTargets(call.tensor(2), self) || !isGradientOf(self, reduction, grad) ||
      !total.defined() || total.dtype() != self.dtype() || total.numel() != 1 ||
      (weight.defined() && call.isBatched(weight)))
    return loopSilently(call);
  const Positions p = positionsOf(call, self, call.tensor(2), weight);
  const bool each = isOfRows(self, reduction);
  // One number may have a dimension of its own.
  const auto number = [&](const Tensor& t) { return shaped(call.expanded(t), {call.size}); };
  const Tensor result = gradientOf(p, each ? call.expanded(grad) : number(grad), weight, reduction, call.integer(5),
                                   reduction == kMean ? number(total) : Tensor());
  call.setResult(shaped(result, call.withBatch(self.sizes())));
}

}  // namespace rules
}  // namespace shunt::levels
