// pow with a number as exponent: the common ones are a few multiplications or a root, as in PyTorch.
#include "generated/native_functions.h"
#include "kernels/elementwise/promote.h"
#include "kernels/elementwise/run.h"
#include "kernels/shape/copy.h"

#include <shunt/ops.h>

namespace shunt::native {
namespace {

using functors::Pow;

ScalarType powDtype(const Tensor& self, const Scalar& exponent) {
  SHUNT_CHECK(self.defined(), "pow(): argument 'self' (position 1) is an undefined tensor; expected one with data");
  elementwise::Request request{elementwise::kOpInfo<Pow>, "pow"};
  elementwise::detail::bindAll(request, 0, self, exponent);
  return elementwise::commonDtype(request);
}

void checkExponent(const Tensor& self, const Scalar& exponent) {
  SHUNT_CHECK(!isIntegralType(self.scalar_type(), true) || !exponent.isIntegral(true) || exponent.toLong() >= 0,
              "Integers to negative integer powers are not allowed.");
}

/// Calls `f` with the functor that the exponent needs; Pow takes it as an input, the others don't.
template <class F>
decltype(auto) withPower(ScalarType dtype, const Scalar& exponent, F f) {
  const double e = exponent.toDouble();
  if (e == 1) return f(functors::Copy());
  if (e == 2) return f(functors::Square());
  if (e == 3) return f(functors::Cube());
  if (isFloatingType(dtype)) {
    if (e == 0.5) return f(functors::Sqrt());
    if (e == -0.5) return f(functors::Rsqrt());
    if (e == -1) return f(functors::Reciprocal());
    if (e == -2) return f(functors::ReciprocalSquare());
  }
  return f(Pow());
}

Tensor castTo(const Tensor& self, ScalarType dtype) {
  if (self.scalar_type() == dtype) return self;
  Tensor out(detail::makeTensor(self.sizes(), {}, dtype, self.device()));
  elementwise::runOut<functors::Copy>("pow", out, self);
  return out;
}

}  // namespace

Tensor pow_tensor_scalar(const Tensor& self, const Scalar& exponent) {
  const ScalarType dtype = powDtype(self, exponent);
  checkExponent(self, exponent);
  return withPower(dtype, exponent, [&]<class F>(F) {
    if constexpr (std::is_same_v<F, Pow>) return elementwise::run<Pow>("pow", self, exponent);
    else return elementwise::run<F>("pow", castTo(self, dtype));
  });
}

Tensor& pow_out_tensor_scalar(const Tensor& self, const Scalar& exponent, Tensor& out) {
  const ScalarType dtype = powDtype(self, exponent);
  checkExponent(self, exponent);
  if (out.defined() && !canCast(dtype, out.scalar_type())) {
    elementwise::runOut<Pow>("pow", out, self, exponent);  // throws
    return out;
  }
  withPower(dtype, exponent, [&]<class F>(F) {
    if constexpr (std::is_same_v<F, Pow>) elementwise::runOut<Pow>("pow", out, self, exponent);
    else elementwise::runOut<F>("pow", out, castTo(self, dtype));
  });
  return out;
}

Tensor& pow__tensor_scalar(Tensor& self, const Scalar& exponent) { return pow_out_tensor_scalar(self, exponent, self); }

Tensor& pow_out_scalar(const Scalar& self, const Tensor& exponent, Tensor& out) {
  // 1 to any power is 1, in whatever dtype the output has.
  if (self.equal(1.0) && exponent.defined() && out.defined() && out.sizes() == exponent.sizes()) {
    fillBelowAutograd(out, self);
    return out;
  }
  elementwise::runOut<Pow>("pow", out, self, exponent);
  return out;
}

Tensor pow_scalar(const Scalar& self, const Tensor& exponent) {
  Tensor result = elementwise::run<Pow>("pow", self, exponent);
  if (self.equal(1.0) && !result.is_contiguous()) result = Tensor(detail::makeTensor(result.sizes(), {}, result.dtype(), result.device()));
  return self.equal(1.0) ? pow_out_scalar(self, exponent, result) : result;
}

Tensor square(const Tensor& self) { return shunt::pow(self, 2); }
Tensor& square_(Tensor& self) { return self.pow_(2); }
Tensor& square_out(const Tensor& self, Tensor& out) { return shunt::pow_out(out, self, 2); }

}  // namespace shunt::native
