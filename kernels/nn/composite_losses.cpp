// l1_loss and binary_cross_entropy_with_logits: losses that are made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/reduction.h"

#include <shunt/ops.h>

#include <limits>

namespace shunt::native {
namespace {

Tensor reduced(const Tensor& losses, int64_t reduction) {
  switch (nn::lossReduction(reduction)) {
    case nn::LossReduction::kMean:
      return shunt::mean(losses);
    case nn::LossReduction::kSum:
      return shunt::sum(losses);
    case nn::LossReduction::kNone:
      break;
  }
  return losses;
}

}  // namespace

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  nn::lossReduction(reduction);
  return reduced(shunt::abs(shunt::sub(self, target)), reduction);
}

/// (1 - t) x + w log(1 + exp(-x)), w = (p - 1) t + 1 with positive weights p. The logarithm is a softplus, exact far
/// out.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight, int64_t reduction) {
  nn::lossReduction(reduction);
  implOf(self, "binary_cross_entropy_with_logits");
  implOf(target, "binary_cross_entropy_with_logits", "target");
  constexpr double kNoThreshold = std::numeric_limits<double>::infinity();
  // Whole numbers, for which there is no softplus, have the logarithms of the numbers that they are.
  const bool whole = isIntegralType(self.scalar_type(), false);
  const Tensor logits = whole ? self.to(get_default_dtype()) : self;
  Tensor logs = shunt::softplus(shunt::neg(logits), 1, kNoThreshold);
  if (pos_weight && pos_weight->defined())
    logs = shunt::mul(shunt::add(shunt::mul(shunt::sub(*pos_weight, 1), target), 1), logs);
  Tensor loss = shunt::add(shunt::mul(shunt::rsub(target, 1), self), logs);
  if (weight && weight->defined()) loss = shunt::mul(loss, *weight);
  return reduced(loss, reduction);
}

}  // namespace shunt::native
