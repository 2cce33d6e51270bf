// sinh, cosh and the inverses asinh, acosh, atanh for float and double: at most 1 ULP (float) and 2 ULP (double; sinh
// 3) from the exact value. Float is evaluated in double. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/log.h>

namespace shunt::math {
namespace detail {

/// sinh and cosh overflow beyond this. e^710.6 / 4 is finite; e^710.6 / 2 isn't.
inline constexpr double kHyperbolicHigh = 710.6;
/// From here on x^2 + 1 is x^2.
inline constexpr double kInverseIsLog = 0x1p28;

/// (e^x - 1) / 2 for x in [0, kHyperbolicHigh]; inf only if the value itself overflows.
SHUNT_ALWAYS_INLINE double halfExpm1(double x) {
  const ExpReduced<double> a = expReduce(x);
  const double q = fma(a.r * a.r, expm1Tail(a.r), a.r);
  const double quarter_power = powerOfTwo(a.n, static_cast<BitsOf<double>>(-2));
  return fma(quarter_power, q, quarter_power - 0.25) * 2;
}

SHUNT_ALWAYS_INLINE double sinh(double x) {
  const double magnitude = abs(x);
  const double h = halfExpm1(magnitude > kHyperbolicHigh ? kHyperbolicHigh : magnitude);
  // (E - 1 / E) / 2 of E = 2 h + 1.
  const double result = h > 0x1p60 ? h : h + h / fma(2.0, h, 1.0);
  return copysign(magnitude < 0x1p-28 ? magnitude : result, x);
}

SHUNT_ALWAYS_INLINE double cosh(double x) {
  const double magnitude = abs(x);
  const ExpReduced<double> a = expReduce(magnitude > kHyperbolicHigh ? kHyperbolicHigh : magnitude);
  const double mantissa = fma(a.r, fma(a.r, expTail(a.r), 1.0), 1.0);
  const double half = mantissa * powerOfTwo(a.n, static_cast<BitsOf<double>>(-2)) * 2;
  return half + 0.25 / half;
}

/// log(1 + u), or log(2 (1 + u)) if `is_log`.
SHUNT_ALWAYS_INLINE double log1pOrLogOfTwice(double u, bool is_log) {
  const double result = shunt::math::log1p(u);
  return is_log ? result + ExpConstants<double>::kLn2Hi : result;
}

SHUNT_ALWAYS_INLINE double asinh(double x) {
  const double a = abs(x), square = a * a;
  const bool is_log = a > kInverseIsLog;
  const double u = a + square / (1 + sqrt(1 + square));
  return copysign(log1pOrLogOfTwice(is_log ? a - 1 : u, is_log), x);
}

SHUNT_ALWAYS_INLINE double acosh(double x) {
  const double t = x - 1;
  const bool is_log = x > kInverseIsLog;
  const double u = t + sqrt(t * (t + 2));
  const double result = log1pOrLogOfTwice(is_log ? t : u, is_log);
  return x < 1 ? Format<double>::kNaN : result;
}

SHUNT_ALWAYS_INLINE double atanh(double x) {
  const double a = abs(x);
  return copysign(0.5 * shunt::math::log1p(2 * a / (1 - a)), x);
}

}  // namespace detail

/// Overflow gives an infinity with the sign of x.
template <class T>
SHUNT_ALWAYS_INLINE T sinh(T x) {
  return static_cast<T>(detail::sinh(static_cast<double>(x)));
}
/// Overflow gives inf, for x of both signs.
template <class T>
SHUNT_ALWAYS_INLINE T cosh(T x) {
  return static_cast<T>(detail::cosh(static_cast<double>(x)));
}
/// +-inf at +-inf; keeps the sign of zero.
template <class T>
SHUNT_ALWAYS_INLINE T asinh(T x) {
  return static_cast<T>(detail::asinh(static_cast<double>(x)));
}
/// NaN below 1.
template <class T>
SHUNT_ALWAYS_INLINE T acosh(T x) {
  return static_cast<T>(detail::acosh(static_cast<double>(x)));
}
/// NaN outside [-1, 1], +-inf at +-1.
template <class T>
SHUNT_ALWAYS_INLINE T atanh(T x) {
  return static_cast<T>(detail::atanh(static_cast<double>(x)));
}

}  // namespace shunt::math
