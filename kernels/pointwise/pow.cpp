// pow with a number as exponent: the common ones are a few multiplications or a root, as in PyTorch.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/pointwise/promote.h"
#include "kernels/pointwise/run.h"

#include <shunt/ops.h>

namespace shunt::native {
namespace {

using functors::Pow;

template <class Base, class Exponent>
ScalarType powDtype(const Base& self, const Exponent& exponent) {
  elementwise::Request request{elementwise::kDescriptor<Pow>, "pow"};
  elementwise::detail::bindAll(request, 0, self, exponent);
  return elementwise::commonDtype(request);
}

void checkExponent(const Tensor& self, const Scalar& exponent) {
  SHUNT_CHECK(!isIntegralType(self.scalar_type(), true) || !exponent.isIntegral(true) || exponent.toLong() >= 0,
              "Integers to negative integer powers are not allowed.");
}

/// An integer exponent that the dtype can't hold would wrap to another one.
void checkFits(ScalarType dtype, const Scalar& exponent) {
  if (!isIntegralType(dtype, false)) return;
  dispatchAllTypes(dtype, "pow", [&]<class T>(std::type_identity<T>) { static_cast<void>(exponent.to<T>()); });
}

/// Whose every power is 1; true is not, as bools have no powers.
bool isOne(const Scalar& base) { return !base.isBoolean() && base.equal(1.0); }

void requireDefined(const Tensor& t, const char* argument) {
  SHUNT_CHECK(t.defined(), "pow(): argument '", argument, "' is an undefined tensor; expected one with data");
}

/// Calls `f` with the functor that the exponent needs; Pow takes it as an input, the others don't.
template <class F>
decltype(auto) withPower(ScalarType dtype, const Scalar& exponent, F f) {
  if (dtype == kBool) return f(Pow());  // which refuses it
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

}  // namespace

Tensor pow_tensor_scalar(const Tensor& self, const Scalar& exponent) {
  requireDefined(self, "self");
  const ScalarType dtype = powDtype(self, exponent);
  checkExponent(self, exponent);
  checkFits(dtype, exponent);
  return withPower(dtype, exponent, [&]<class F>(F) {
    if constexpr (std::is_same_v<F, Pow>)
      return elementwise::run<Pow>("pow", self, exponent);
    else
      return elementwise::detail::runIn<F>(dtype, "pow", self);
  });
}

Tensor& pow_out_tensor_scalar(const Tensor& self, const Scalar& exponent, Tensor& out) {
  requireDefined(self, "self");
  const ScalarType dtype = powDtype(self, exponent);
  checkExponent(self, exponent);
  checkFits(dtype, exponent);
  SHUNT_CHECK(!out.defined() || canCast(dtype, out.scalar_type()), "pow(): result type ", dtype,
              " can't be cast to the desired output type ", out.scalar_type());
  SHUNT_CHECK(!out.defined() || out.scalar_type() == dtype, "pow(): Found dtype ", out.scalar_type(), " but expected ",
              dtype);
  withPower(dtype, exponent, [&]<class F>(F) {
    if constexpr (std::is_same_v<F, Pow>)
      elementwise::runOut<Pow>("pow", out, self, exponent);
    else
      elementwise::detail::runOutIn<F>(dtype, "pow", out, self);
  });
  return out;
}

Tensor& pow__tensor_scalar(Tensor& self, const Scalar& exponent) { return pow_out_tensor_scalar(self, exponent, self); }

Tensor& pow_out_scalar(const Scalar& self, const Tensor& exponent, Tensor& out) {
  requireDefined(exponent, "exponent");
  SHUNT_CHECK(out.defined(), "pow(): the output is an undefined tensor; expected one to write to");
  const bool one = isOne(self);
  const ScalarType dtype = powDtype(self, exponent);
  SHUNT_CHECK(one || canCast(dtype, out.scalar_type()), "pow(): result type ", dtype,
              " can't be cast to the desired output type ", out.scalar_type());
  // A resized output is contiguous, whatever layout the exponents have.
  if (!out.is_same(exponent)) resizeOutputApart("pow", out, exponent.sizes(), {&exponent});
  // 1 to any power is 1, in whatever dtype the output has.
  if (one)
    fillBelowAutograd(out, self);
  else
    elementwise::runOut<Pow>("pow", out, self, exponent);
  return out;
}

Tensor pow_scalar(const Scalar& self, const Tensor& exponent) {
  requireDefined(exponent, "exponent");
  ScalarType dtype = powDtype(self, exponent);
  // Numbers on both sides have a category, not a width.
  if (exponent.unsafeGetTensorImpl()->is_wrapped_number() && isFloatingType(dtype)) dtype = get_default_dtype();
  Tensor result(detail::makeTensor(exponent.sizes(), {}, dtype, exponent.device()));
  if (isOne(self))
    fillBelowAutograd(result, self);
  else
    elementwise::detail::runOutIn<Pow>(dtype, "pow", result, self, exponent);
  return result;
}

Tensor square(const Tensor& self) { return shunt::pow(self, 2); }
Tensor& square_(Tensor& self) { return self.pow_(2); }
Tensor& square_out(const Tensor& self, Tensor& out) { return shunt::pow_out(out, self, 2); }

}  // namespace shunt::native
