// l1_loss, binary_cross_entropy with and without logits, kl_div, cosine_similarity: made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/reduction.h"

#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>
#include <shunt/tensor/wrapper_kind.h>

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

namespace {
/// Inside vmap and traces there is no value to read.
void checkProbabilities(const Tensor& t, const char* name) {
  const bool known = !t.is_meta() && t.numel() != 0 && wrapperKind(t) == WrapperKind::kNone;
  SHUNT_CHECK(!known || t.ge(0).logical_and(t.le(1)).all().item().toBool(), "binary_cross_entropy(): all elements of ",
              name, " should be between 0 and 1");
}
}  // namespace

// Logarithms of at least -100.
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                            int64_t reduction) {
  nn::lossReduction(reduction);
  implOf(self, "binary_cross_entropy");
  implOf(target, "binary_cross_entropy", "target");
  if (!isFloatingType(self.scalar_type())) detail::throwNotImplementedFor("binary_cross_entropy", self.scalar_type());
  checkProbabilities(self, "input");
  checkProbabilities(target, "target");
  // The gradient is (x - target) / (x (1 - x)), of which the divisor is at least 1e-12. Next to 0 and 1, where that
  // counts and the logarithms have none, it is that of a line.
  const Tensor fixed = self.detach();
  const Tensor at_end = fixed.mul(fixed.neg().add(1)).lt(1e-12);
  const Tensor inside = self.masked_fill(at_end, 0.5);
  const Tensor between = shunt::sub(target, 1).mul(inside.neg().log1p()).sub(target.mul(inside.log()));
  const Tensor end = shunt::sub(target, 1)
                         .mul(fixed.neg().log1p().clamp_min(-100))
                         .sub(target.mul(fixed.log().clamp_min(-100)))
                         .add(self.sub(fixed).mul(1e12).mul(fixed.sub(target)));
  Tensor loss = shunt::where(at_end, end, between);
  if (weight && weight->defined()) loss = shunt::mul(loss, *weight);
  return reduced(loss, reduction);
}

// 0 log(0) is 0.
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  nn::lossReduction(reduction);
  implOf(self, "kl_div");
  implOf(target, "kl_div", "target");
  SHUNT_CHECK(isFloatingType(self.scalar_type()) && isFloatingType(target.scalar_type()),
              "kl_div(): expected input and target of floating-point dtypes, but got ", self.scalar_type(), " and ",
              target.scalar_type());
  if (log_target) return reduced(target.exp().mul(target.sub(self)), reduction);
  return reduced(shunt::xlogy(target, target).sub(target.mul(self)), reduction);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const ScalarType a = implOf(x1, "cosine_similarity", "x1").dtype(), b = implOf(x2, "cosine_similarity", "x2").dtype();
  SHUNT_CHECK(isFloatingType(promoteTypes(a, b)),
              "cosine_similarity(): expected common dtype to be floating point, yet common dtype is ",
              promoteTypes(a, b));
  const std::vector<int64_t> shape = infer_size(x1.sizes(), x2.sizes());
  const auto unit = [&](const Tensor& x) {
    const Tensor wide = x.to(promoteTypes(a, b)).expand(shape);
    return wide.div(shunt::linalg_vector_norm(wide, 2, {dim}, true).clamp_min(eps));
  };
  return unit(x1).mul(unit(x2)).sum({dim});
}

}  // namespace shunt::native
