// The interpreter's negative log-likelihood, as others run it (nll_loss.h).
#include "kernels/nn/nll_loss_loops.h"

#include <shunt/elementwise/nll_loss.h>

namespace shunt::elementwise {
namespace {

nn::Likelihoods likelihoodsOf(const NllLoss& loss, const std::byte* input, const std::byte* target) {
  return {.input = input,
          .target = target,
          .sample_stride = loss.sample_stride,
          .class_stride = loss.class_stride,
          .target_stride = loss.target_stride,
          .samples = loss.samples,
          .classes = loss.classes,
          .ignore_index = loss.ignore_index};
}

bool allAreClasses(const nn::Likelihoods& b) {
  for (int64_t i = 0; i < b.samples; ++i) {
    const int64_t t = nn::targetOf(b, i);
    if (t != b.ignore_index && (t < 0 || t >= b.classes)) return false;
  }
  return true;
}

template <class F>
void withType(ScalarType dtype, const F& f) {
  if (dtype == kFloat)
    f(float());
  else
    f(double());
}

}  // namespace

bool NllLoss::takes(ScalarType dtype) { return dtype == kFloat || dtype == kDouble; }

bool NllLoss::forward(const std::byte* input, const std::byte* target, std::byte* loss, std::byte* total_weight) const {
  const nn::Likelihoods b = likelihoodsOf(*this, input, target);
  if (!allAreClasses(b)) return false;
  withType(dtype, [&]<class T>(T) {
    nn::forwardReduced<T>(b, mean, reinterpret_cast<T*>(loss), reinterpret_cast<T*>(total_weight));
  });
  return true;
}

bool NllLoss::backward(const std::byte* grad, const std::byte* target, const std::byte* total_weight,
                       std::byte* out) const {
  const nn::Likelihoods b = likelihoodsOf(*this, nullptr, target);
  if (!allAreClasses(b)) return false;
  withType(dtype, [&]<class T>(T) {
    const T divisor = mean ? *reinterpret_cast<const T*>(total_weight) : T(1);
    nn::backward<T>(b, reinterpret_cast<const T*>(grad), 0, divisor, reinterpret_cast<T*>(out));
  });
  return true;
}

}  // namespace shunt::elementwise
