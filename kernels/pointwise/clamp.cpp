// clamp with bounds that may be missing.
#include "generated/native_functions.h"
#include "kernels/pointwise/run.h"

namespace shunt::native {
namespace {

template <class Bound>
void requireBound(const std::optional<Bound>& min, const std::optional<Bound>& max) {
  SHUNT_CHECK(min.has_value() || max.has_value(), "torch.clamp: At least one of 'min' or 'max' must not be None");
}

/// Two bounds clamp numbers only; with one bound the operator is maximum or minimum, which bools have.
template <class Bound>
void refuseBools(const Tensor& self, const std::optional<Bound>& min, const std::optional<Bound>& max) {
  if constexpr (std::is_same_v<Bound, Tensor>) {
    const auto isBool = [](const Tensor& t) { return t.defined() && t.scalar_type() == kBool; };
    if (isBool(self) && isBool(*min) && isBool(*max)) ::shunt::detail::throwNotImplementedFor("clamp_cpu", kBool);
  }
}

template <class Bound>
Tensor clampNew(const Tensor& self, const std::optional<Bound>& min, const std::optional<Bound>& max) {
  requireBound(min, max);
  if (min && max) {
    refuseBools(self, min, max);
    return elementwise::run<functors::Clamp>("clamp", self, *min, *max);
  }
  return min ? elementwise::run<functors::ClampMin>("clamp", self, *min)
             : elementwise::run<functors::ClampMax>("clamp", self, *max);
}

template <class Bound>
Tensor& clampOut(const Tensor& self, const std::optional<Bound>& min, const std::optional<Bound>& max, Tensor& out) {
  requireBound(min, max);
  if (min && max) {
    refuseBools(self, min, max);
    elementwise::runOut<functors::Clamp>("clamp", out, self, *min, *max);
  } else if (min)
    elementwise::runOut<functors::ClampMin>("clamp", out, self, *min);
  else
    elementwise::runOut<functors::ClampMax>("clamp", out, self, *max);
  return out;
}

template <class Bound>
Tensor& clampInplace(Tensor& self, const std::optional<Bound>& min, const std::optional<Bound>& max) {
  requireBound(min, max);
  if (min && max) {
    refuseBools(self, min, max);
    elementwise::runInplace<functors::Clamp>("clamp_", self, *min, *max);
  } else if (min)
    elementwise::runInplace<functors::ClampMin>("clamp_", self, *min);
  else
    elementwise::runInplace<functors::ClampMax>("clamp_", self, *max);
  return self;
}

}  // namespace

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return clampNew(self, min, max);
}
Tensor& clamp_(Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return clampInplace(self, min, max);
}
Tensor& clamp_out(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max, Tensor& out) {
  return clampOut(self, min, max, out);
}

Tensor clamp_tensor(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  return clampNew(self, min, max);
}
Tensor& clamp__tensor(Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  return clampInplace(self, min, max);
}
Tensor& clamp_out_tensor(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                         Tensor& out) {
  return clampOut(self, min, max, out);
}

}  // namespace shunt::native
