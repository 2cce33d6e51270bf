// multinomial: indices drawn with given weights, made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>

#include <bit>
#include <limits>

namespace shunt::native {
namespace {

void checkWeights(const Tensor& self, int64_t num_samples, bool replacement) {
  const ScalarType dtype = implOf(self, "multinomial").dtype();
  SHUNT_CHECK(isFloatingType(dtype), "multinomial only supports floating-point dtypes for input, got: ", dtype);
  SHUNT_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial(): prob_dist must be 1 or 2 dim, but got ", self.dim());
  SHUNT_CHECK(num_samples > 0, "multinomial(): cannot sample n_sample <= 0 samples, but got ", num_samples);
  SHUNT_CHECK(replacement || num_samples <= self.size(-1),
              "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement, but got ",
              num_samples, " of ", self.size(-1));
  // Inside vmap and traces there is no value to read.
  if (self.is_meta() || self.numel() == 0 || wrapperKind(self) != WrapperKind::kNone) return;
  const Tensor valid = self.ge(0).logical_and(self.isfinite());
  SHUNT_CHECK(valid.all().item().toBool(),
              "multinomial(): probability tensor contains either `inf`, `nan` or element < 0");
  SHUNT_CHECK(self.sum({-1}).gt(0).all().item().toBool(),
              "multinomial(): invalid multinomial distribution (sum of probabilities <= 0)");
}

Tensor uniformLike(const Tensor& t, std::optional<Generator> generator) {
  Tensor u = shunt::empty_like(t);
  return u.uniform_(0, 1, generator);
}

/// How many of each row's ends, which ascend, are at most each place of the row: by halving.
Tensor endsUpTo(const Tensor& places, const Tensor& ends) {
  const int64_t count = ends.size(-1);
  Tensor found = places.new_zeros(places.sizes(), TensorOptions(kLong));
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count))); step > 0; step /= 2) {
    const Tensor probe = found.add(step - 1);
    const Tensor passed = ends.gather(-1, probe.clamp_max(count - 1)).le(places).logical_and(probe.lt(count));
    found = found.add(passed.to(kLong).mul(step));
  }
  return found;
}

}  // namespace

// Without replacement by a race: exponential times divided by the weights, the earliest first (P. Efraimidis,
// P. Spirakis: Weighted random sampling with a reservoir, 2006). With replacement by the inverse of the cumulated
// weights; a weight of 0 is an empty interval. Without replacement, what has no weight is drawn when nothing else is
// left.
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, std::optional<Generator> generator) {
  checkWeights(self, num_samples, replacement);
  const Tensor weights = self.scalar_type() == kDouble ? self.detach() : self.detach().to(kFloat);
  if (!replacement || num_samples == 1) {
    const Tensor times = uniformLike(weights, generator).neg().log1p().neg();
    const double longest =
        weights.scalar_type() == kDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    // What can't be drawn waits longest, even where its time was 0 of 0, or one of a tiny weight overflows.
    const Tensor waits =
        times.div(weights).clamp_max(longest).masked_fill(weights.eq(0), std::numeric_limits<double>::infinity());
    return num_samples == 1 ? waits.argmin(-1, true) : std::get<1>(waits.topk(num_samples, -1, false));
  }
  const Tensor ends = self.detach().to(kDouble).cumsum(-1);
  std::vector<int64_t> sizes(weights.sizes().begin(), weights.sizes().end());
  sizes.back() = num_samples;
  const Tensor total = ends.select(-1, -1).unsqueeze(-1);
  const Tensor places = uniformLike(ends.new_empty(sizes), generator).mul(total);
  // A product that rounds up to the sum belongs to the last weight that isn't 0.
  return shunt::minimum(endsUpTo(places, ends), ends.lt(total).sum({-1}, true));
}

}  // namespace shunt::native
