// pow for float and double: at most 1 ULP from the exact value, with C99's special cases (ISO C, annex F):
// - pow(x, 0) = pow(1, y) = 1, even for NaN, and pow(-1, +-inf) = 1.
// - A negative base with a non-integer exponent gives NaN.
// - Odd exponents keep the signs of zeros and infinities.
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
//
// Note [Errors of pow]
// An absolute error of y log(x), which reaches 745, is a relative error of the result. So the logarithm of a double is
// needed to about 2^-65. It is an unevaluated sum of two doubles (high, low), low far below high. For float, one double
// is enough.
#pragma once

#include <shunt/elementwise/math/erf.h>
#include <shunt/elementwise/math/log.h>

namespace shunt::math {
namespace detail {

struct DoubleDouble {
  double high, low;
};

/// high + low as a normalised sum; |high| >= |low| or high == 0.
SHUNT_ALWAYS_INLINE DoubleDouble fastTwoSum(double high, double low) {
  const double sum = high + low;
  return {sum, (high - sum) + low};
}

SHUNT_ALWAYS_INLINE DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const double product = a.high * b.high;
  return {product, fma(a.high, b.high, -product) + fma(a.high, b.low, a.low * b.high)};
}

/// log(1 + f) = 2 atanh(s), s = f / (2 + f); atanh(s) = s + s z (1/3 + z T(z)), z = s^2, |s| <= 1/5, to about 2^-64 of
/// it.
SHUNT_ALWAYS_INLINE DoubleDouble logDoubleDouble(double f) {
  const double d = 2.0 + f;
  const double d_low = f - (d - 2.0);
  const double inverse = 1.0 / d;
  const double quotient = f * inverse;
  const double rest = fma(-quotient, d_low, fma(-quotient, d, f));
  const DoubleDouble s = {quotient, rest * inverse};

  const DoubleDouble z = multiply(s, s);
  const double t =
      polynomial(z.high, 0x1.9999999999966p-3, 0x1.24924924990ep-3, 0x1.c71c71bc278b9p-4, 0x1.745d1bdf0ecf7p-4,
                 0x1.3b12938f5a0ddp-4, 0x1.113aa0fbd393ep-4, 0x1.dac0786a6c575p-5, 0x1.01ae6a2a1677p-4);
  const DoubleDouble zt = multiply(z, {t, 0.0});
  DoubleDouble u = fastTwoSum(0x1.5555555555555p-2, zt.high);
  u.low += zt.low + 0x1.5555555555555p-56;
  const DoubleDouble w = multiply(s, multiply(z, u));
  const DoubleDouble sum = fastTwoSum(s.high, w.high);
  return {2.0 * sum.high, 2.0 * (sum.low + (w.low + s.low))};
}

/// exp(high + low), |low| far below 1. The error is little more than the last rounding, so representable results are
/// exact.
SHUNT_ALWAYS_INLINE double expDoubleDouble(double high, double low) {
  using C = ExpConstants<double>;
  const Rounded<double> n = roundProduct(high, C::kLog2e, kScaleOffset<double>);
  const double upper = fma(n.value, -C::kLn2Hi, high);
  const double lower = fma(n.value, C::kLn2Lo, -low);
  const double r = upper - lower;
  const double r_low = (upper - r) - lower;
  const DoubleDouble sum = fastTwoSum(1.0, r);
  const double tail = fma(r * r, expTail(r), r_low);
  return expScale(sum.high + (sum.low + tail), n);
}

/// x^y for finite x > 0; y is not NaN.
SHUNT_ALWAYS_INLINE double powPositive(double x, double y) {
  using C = ExpConstants<double>;
  const LogReduced<double> a = logReduce(x);
  const DoubleDouble fraction = logDoubleDouble(a.f);
  const double whole = a.exponent * C::kLn2Hi;
  DoubleDouble log = fastTwoSum(whole, fraction.high);
  log.low += fma(a.exponent, C::kLn2Hi, -whole) + fma(a.exponent, C::kLn2Lo, fraction.low);
  log = fastTwoSum(log.high, log.low);

  // Beyond |y| = 2^66 every x but 1 over- or underflows. y is clamped, so that the product is finite.
  constexpr double kHuge = 0x1p66;
  const double small = y < -kHuge ? -kHuge : y;
  const DoubleDouble product = multiply({small > kHuge ? kHuge : small, 0.0}, log);
  const double high = product.high > C::kHigh ? C::kHigh : product.high;
  const bool within = (product.high <= C::kHigh) & (product.high >= C::kLow);
  return expDoubleDouble(high < C::kLow ? C::kLow : high, within ? product.low : 0.0);
}

/// 2^(y log2 x) in double: the logarithm is accurate to 2^-38, the power to 2^-40.
SHUNT_ALWAYS_INLINE float powPositive(float x, float y) {
  const LogReduced<double> a = logReduce(static_cast<double>(x));
  const double f = a.f;
  const double p = polynomial(f, 0x1.71547652bc28dp+0, -0x1.71547652bcc35p-1, 0x1.ec709d8e0faa8p-2,
                              -0x1.715476260a1f8p-2, 0x1.2776e2e9198f8p-2, -0x1.ec70d2b41c6dap-3, 0x1.a60af11bfb40bp-3,
                              -0x1.71492628dbd7dp-3, 0x1.4985093be47e2p-3, -0x1.289817a42fbccp-3, 0x1.f9e2d51c628efp-4,
                              -0x1.cf556ec74eedcp-4, 0x1.42fb75154936dp-3, -0x1.2c79779492d64p-3);
  const double product = static_cast<double>(y) * fma(f, p, a.exponent);
  const double low = product < -200.0 ? -200.0 : product;
  const double t = low > 200.0 ? 200.0 : low;
  const Rounded<double> n = roundProduct(t, 1.0);
  const double r = t - n.value;
  const double q =
      polynomial(r, 0x1.62e42fef899b8p-1, 0x1.ebfbdff8e10bfp-3, 0x1.c6b08dcf3d395p-5, 0x1.3b2ab5fb63428p-7,
                 0x1.5d874c89293d5p-10, 0x1.430a953b63f1dp-13, 0x1.00d8aa822a5ffp-16, 0x1.61d644b40a00dp-20);
  return static_cast<float>(fma(r, q, 1.0) * powerOfTwo(n));
}

/// Whether a magnitude is an integer; infinity counts as one.
template <class T>
SHUNT_ALWAYS_INLINE bool isInteger(T magnitude) {
  constexpr T kUlp = Format<T>::kIntegerUlp;
  return ((magnitude + kUlp) - kUlp == magnitude) | (magnitude >= kUlp);
}

}  // namespace detail

/// x^y. The head of this header lists the special cases.
template <class T>
SHUNT_ALWAYS_INLINE T pow(T x, T y) {
  using F = detail::Format<T>;
  const T base = detail::abs(x), exponent = detail::abs(y);
  T result = detail::powPositive(base, y);
  // The arithmetic on bits is meaningless for the bases 0 and inf.
  const T extreme = (base == T(0)) == (y < T(0)) ? F::kInfinity : T(0);
  const bool at_end = (base == T(0)) | (base == F::kInfinity);
  result = at_end ? extreme : result;

  const bool integer = detail::isInteger(exponent);
  const bool odd = integer & !detail::isInteger(exponent * T(0.5));
  result = odd ? detail::copysign(result, x) : result;
  const bool negative = (x < T(0)) & (base != F::kInfinity);
  const bool undefined = (negative & !integer) | (x != x) | (y != y);
  result = undefined ? F::kNaN : result;
  const bool one = (y == T(0)) | (x == T(1)) | ((base == T(1)) & (exponent == F::kInfinity));
  return one ? T(1) : result;
}

}  // namespace shunt::math
