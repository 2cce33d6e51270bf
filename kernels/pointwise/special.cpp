// What special.yaml has beside elementwise operators: checks before a functor, and composites of a number and a tensor.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/pointwise/functors/gamma.h"
#include "kernels/pointwise/functors/pairs.h"
#include "kernels/pointwise/run.h"

#include <shunt/ops.h>

#include <limits>

namespace shunt::native {
namespace {

using elementwise::run;
using elementwise::runInplace;
using elementwise::runOut;

void checkOrder(int64_t n) { SHUNT_CHECK(n >= 0, "polygamma(n, x) does not support negative n; got n = ", n); }

Scalar epsOf(std::optional<double> eps) { return eps && *eps >= 0 ? *eps : -1.0; }

void checkHeaviside(const Tensor& self, const Tensor& values) {
  const ScalarType a = implOf(self, "heaviside").dtype(), b = implOf(values, "heaviside", "values").dtype();
  SHUNT_CHECK(a == b, "heaviside is not yet implemented for tensors with different dtypes: got ", a, " and ", b);
}

struct Replacements {
  Scalar nan, above, below;
};

/// By default 0 and the dtype's largest and least numbers.
Replacements replacementsFor(ScalarType dtype, std::optional<double> nan, std::optional<double> posinf,
                             std::optional<double> neginf) {
  const double largest = dtype == kHalf       ? 65504.0
                         : dtype == kBFloat16 ? 0x1.fep127
                         : dtype == kFloat    ? static_cast<double>(std::numeric_limits<float>::max())
                                              : std::numeric_limits<double>::max();
  return {nan.value_or(0.0), posinf.value_or(largest), neginf.value_or(-largest)};
}

void checkDouble(const char* name, const char* of, const Tensor& t) {
  const ScalarType dtype = implOf(t, name).dtype();
  SHUNT_CHECK(dtype == kDouble, "the ", of, " given to ", name, " has dtype ", dtype,
              " but the operation's result requires dtype Double");
}

Tensor twoToThe(const Tensor& exponent) { return shunt::pow(2.0, exponent); }

}  // namespace

// Orders 0 and 1 have functors of their own, without a number.
Tensor polygamma(int64_t n, const Tensor& self) {
  checkOrder(n);
  if (n == 0) return run<functors::Digamma>("digamma", self);
  return n == 1 ? run<functors::Trigamma>("polygamma", self) : run<functors::Polygamma>("polygamma", self, n);
}
Tensor& polygamma_out(int64_t n, const Tensor& self, Tensor& out) {
  checkOrder(n);
  if (n == 0)
    runOut<functors::Digamma>("digamma", out, self);
  else if (n == 1)
    runOut<functors::Trigamma>("polygamma", out, self);
  else
    runOut<functors::Polygamma>("polygamma", out, self, n);
  return out;
}
Tensor& polygamma_(Tensor& self, int64_t n) {
  checkOrder(n);
  if (n == 0)
    runInplace<functors::Digamma>("digamma_", self);
  else if (n == 1)
    runInplace<functors::Trigamma>("polygamma_", self);
  else
    runInplace<functors::Polygamma>("polygamma_", self, n);
  return self;
}

Tensor logit(const Tensor& self, std::optional<double> eps) { return run<functors::Logit>("logit", self, epsOf(eps)); }
Tensor& logit_(Tensor& self, std::optional<double> eps) {
  runInplace<functors::Logit>("logit_", self, epsOf(eps));
  return self;
}
Tensor& logit_out(const Tensor& self, std::optional<double> eps, Tensor& out) {
  runOut<functors::Logit>("logit", out, self, epsOf(eps));
  return out;
}

Tensor heaviside(const Tensor& self, const Tensor& values) {
  checkHeaviside(self, values);
  return run<functors::Heaviside>("heaviside", self, values);
}
Tensor& heaviside_(Tensor& self, const Tensor& values) {
  checkHeaviside(self, values);
  runInplace<functors::Heaviside>("heaviside_", self, values);
  return self;
}
Tensor& heaviside_out(const Tensor& self, const Tensor& values, Tensor& out) {
  checkHeaviside(self, values);
  checkHeaviside(self, out);
  runOut<functors::Heaviside>("heaviside", out, self, values);
  return out;
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  const ScalarType dtype = implOf(self, "nan_to_num").dtype();
  if (!isFloatingType(dtype)) return run<functors::Copy>("nan_to_num", self);
  const Replacements r = replacementsFor(dtype, nan, posinf, neginf);
  return run<functors::NanToNum>("nan_to_num", self, r.nan, r.above, r.below);
}
Tensor& nan_to_num_(Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                    std::optional<double> neginf) {
  const ScalarType dtype = implOf(self, "nan_to_num_").dtype();
  if (!isFloatingType(dtype)) return self;
  const Replacements r = replacementsFor(dtype, nan, posinf, neginf);
  runInplace<functors::NanToNum>("nan_to_num_", self, r.nan, r.above, r.below);
  return self;
}
Tensor& nan_to_num_out(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                       std::optional<double> neginf, Tensor& out) {
  const ScalarType dtype = implOf(self, "nan_to_num").dtype(), given = implOf(out, "nan_to_num", "out").dtype();
  SHUNT_CHECK(dtype == given, "nan_to_num: dtype of out: ", given, " should be same as input: ", dtype);
  if (!isFloatingType(dtype)) {
    runOut<functors::Copy>("nan_to_num", out, self);
    return out;
  }
  const Replacements r = replacementsFor(dtype, nan, posinf, neginf);
  runOut<functors::NanToNum>("nan_to_num", out, self, r.nan, r.above, r.below);
  return out;
}

Tensor positive(const Tensor& self) {
  SHUNT_CHECK(implOf(self, "positive").dtype() != kBool,
              "positive(): The `+` operator, on a bool tensor is not supported.");
  return self;
}

Tensor xlogy_scalar_self(const Scalar& self, const Tensor& other) {
  implOf(other, "xlogy", "other");
  return shunt::xlogy(wrapped_scalar_tensor(self), other);
}
Tensor xlogy_scalar_other(const Tensor& self, const Scalar& other) {
  implOf(self, "xlogy");
  return shunt::xlogy(self, wrapped_scalar_tensor(other));
}
Tensor& xlogy__scalar_other(Tensor& self, const Scalar& other) { return self.xlogy_(wrapped_scalar_tensor(other)); }

Tensor ldexp(const Tensor& self, const Tensor& other) { return shunt::mul(self, twoToThe(other)); }
Tensor& ldexp_(Tensor& self, const Tensor& other) { return self.mul_(twoToThe(other)); }
Tensor& ldexp_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return shunt::mul_out(out, self, twoToThe(other));
}

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  return shunt::pow(self.to(kDouble), exponent.to(kDouble));
}
Tensor float_power_scalar(const Scalar& self, const Tensor& exponent) {
  return shunt::pow(self.toDouble(), exponent.to(kDouble));
}
Tensor float_power_tensor_scalar(const Tensor& self, const Scalar& exponent) {
  return shunt::pow(self.to(kDouble), exponent.toDouble());
}
Tensor& float_power_out(const Tensor& self, const Tensor& exponent, Tensor& out) {
  checkDouble("float_power", "output", out);
  return shunt::pow_out(out, self.to(kDouble), exponent.to(kDouble));
}
Tensor& float_power_out_scalar(const Scalar& self, const Tensor& exponent, Tensor& out) {
  checkDouble("float_power", "output", out);
  return shunt::pow_out(out, self.toDouble(), exponent.to(kDouble));
}
Tensor& float_power_out_tensor_scalar(const Tensor& self, const Scalar& exponent, Tensor& out) {
  checkDouble("float_power", "output", out);
  return shunt::pow_out(out, self.to(kDouble), exponent.toDouble());
}
Tensor& float_power_(Tensor& self, const Tensor& exponent) {
  checkDouble("float_power_", "base", self);
  return self.pow_(exponent.to(kDouble));
}
Tensor& float_power__scalar(Tensor& self, const Scalar& exponent) {
  checkDouble("float_power_", "base", self);
  return self.pow_(exponent.toDouble());
}

Tensor bitwise_left_shift_scalar_tensor(const Scalar& self, const Tensor& other) {
  implOf(other, "bitwise_left_shift", "other");
  return shunt::bitwise_left_shift(wrapped_scalar_tensor(self), other);
}
Tensor bitwise_right_shift_scalar_tensor(const Scalar& self, const Tensor& other) {
  implOf(other, "bitwise_right_shift", "other");
  return shunt::bitwise_right_shift(wrapped_scalar_tensor(self), other);
}

}  // namespace shunt::native
