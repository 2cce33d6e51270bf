// lgamma (the logarithm of the gamma function), its derivatives digamma and trigamma, and Hurwitz's zeta function, from
// which the higher derivatives are made. They branch and loop, one number at a time. Float is evaluated in double.
//
// - lgamma of positive arguments: at most 1 ULP (float) and 6 ULP (double) from the exact value.
// - lgamma of negative arguments: the error is absolute, about 2^-49 of the larger of 1 and the terms. So is the error
//   of digamma near its root.
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/pow.h>
#include <shunt/elementwise/math/trig.h>

namespace shunt::math {
namespace detail {

/// log(gamma(2 + u)) / u for |u| <= 1/2; within 2^-57.
SHUNT_ALWAYS_INLINE double lgammaNearTwo(double u) {
  return polynomial(u, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557555p-4, 0x1.51322ac7d8333p-6,
                    -0x1.e404fc21d8fe7p-8, 0x1.7add6eadfcc7bp-9, -0x1.38ac5bfce42c1p-10, 0x1.0b36af5972ed1p-11,
                    -0x1.d3fd6a9087d23p-13, 0x1.a127cd91ac95bp-14, -0x1.78d8f868f383fp-15, 0x1.5808af19fa483p-16,
                    -0x1.3d4ce65b1d70bp-17, 0x1.2620de1c78d97p-18, -0x1.08fccc794a9c7p-19, 0x1.f038cb2f6a913p-21,
                    -0x1.37fd97eeee99dp-21, 0x1.2703c6effc4ebp-22);
}

/// Stirling's series: the sum over k of B(2k) / (2k (2k - 1) x^(2k-1)), x >= 10.
SHUNT_ALWAYS_INLINE double stirlingTail(double x) {
  const double inverse = 1 / x;
  return inverse * polynomial(inverse * inverse, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                              -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10,
                              0x1.a41a41a41a41ap-8);
}

/// x minus the nearest whole number, exactly. x is below 2^51.
SHUNT_ALWAYS_INLINE double distanceToWhole(double x) {
  constexpr double kShift = Format<double>::kRoundShift;
  return x - ((x + kShift) - kShift);
}

/// x is positive and finite. Below 10 the recurrence leads to an argument within 1/2 of 2.
SHUNT_ALWAYS_INLINE double lgammaPositive(double x) {
  if (x >= 0x1p58) return x * (shunt::math::log(x) - 1);
  if (x >= 10) return (x - 0.5) * shunt::math::log(x) - x + (0x1.d67f1c864beb5p-1 + stirlingTail(x));
  if (x < 0.5) return x * lgammaNearTwo(x) - shunt::math::log1p(x) - shunt::math::log(x);
  if (x < 1.5) return (x - 1) * lgammaNearTwo(x - 1) - shunt::math::log1p(x - 1);
  double product = 1;
  while (x > 2.5) product *= (x -= 1);
  const double u = x - 2, near = u * lgammaNearTwo(u);
  return product == 1 ? near : near + shunt::math::log(product);
}

SHUNT_ALWAYS_INLINE double lgamma(double x) {
  const double magnitude = abs(x);
  if (!(magnitude < Format<double>::kInfinity)) return x * x;
  if (magnitude < 0x1p-60) return -shunt::math::log(magnitude);
  if (x > 0) return lgammaPositive(x);
  if (isInteger(magnitude)) return Format<double>::kInfinity;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x)).
  const double sine = abs(sinFast(kPi * distanceToWhole(magnitude)));
  return shunt::math::log(kPi / (magnitude * sine)) - lgammaPositive(magnitude);
}

/// pi times the distance from a negative number to the nearest whole one: the argument of the reflections.
SHUNT_ALWAYS_INLINE double reflectedAngle(double x) { return kPi * distanceToWhole(x); }

SHUNT_ALWAYS_INLINE double digamma(double x) {
  if (x == 0) return copysign(Format<double>::kInfinity, -x);
  double result = 0;
  if (x < 0) {
    if (isInteger(-x)) return Format<double>::kNaN;
    result = -kPi / tanFast(reflectedAngle(x));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double inverse = 1 / x, z = inverse * inverse;
  const double tail =
      polynomial(z, 0x1.5555555555555p-4, -0x1.1111111111111p-7, 0x1.0410410410410p-8, -0x1.1111111111111p-8,
                 0x1.f07c1f07c1f08p-8, -0x1.5995995995996p-6, 0x1.5555555555555p-4);
  return result + (shunt::math::log(x) - (0.5 * inverse + z * tail));
}

SHUNT_ALWAYS_INLINE double trigamma(double x) {
  double result = 0, sign = 1;
  if (x < 0.5) {
    // 1 / sin^2, which is infinite at whole numbers, takes the place of 1 / x^2.
    if (isInteger(-x)) return Format<double>::kInfinity;
    const double sine = sinFast(reflectedAngle(x));
    result = -(kPi * kPi) / (sine * sine);
    sign = -1;
    x = 1 - x;
  }
  for (; x < 10; x += 1) result += 1 / (x * x);
  const double inverse = 1 / x, z = inverse * inverse;
  const double tail =
      polynomial(z, 0x1.5555555555555p-3, -0x1.1111111111111p-5, 0x1.8618618618618p-6, -0x1.1111111111111p-5,
                 0x1.364d9364d9365p-4, -0x1.0330330330330p-2, 0x1.2aaaaaaaaaaabp+0);
  return sign * (result + (inverse + 0.5 * z + inverse * z * tail));
}

/// The sum over k >= 0 of (k + q)^-s, s > 1 and q > 0, by Euler and Maclaurin: ten terms or more, then an integral with
/// corrections for the rest.
SHUNT_ALWAYS_INLINE double zetaPositive(double s, double q) {
  double sum = 0;
  int terms = 0;
  for (; terms < 10 || q < 10; ++terms, q += 1) sum += shunt::math::pow(q, -s);
  const double power = shunt::math::pow(q, -s);
  sum += q * power / (s - 1) + 0.5 * power;
  // (2k)! / B(2k), as S. Moshier's Cephes library lists them.
  constexpr double kDivisors[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1892437580.3183792,
                                  74724249600.0,
                                  -2950130727918.164,
                                  116467828143500.67,
                                  -4597978722407473.0,
                                  1.8152105401943546e+17,
                                  -7.166165256175667e+18};
  double factor = 1, falling = power / q;
  for (int k = 0; k < 12; ++k) {
    factor *= s + 2 * k;
    sum += factor * falling / kDivisors[k];
    factor *= s + 2 * k + 1;
    falling /= q * q;
  }
  return sum;
}

/// NaN for negative q unless s is a whole number. The terms below 0 are summed separately.
SHUNT_ALWAYS_INLINE double zeta(double s, double q) {
  if (s == 1) return Format<double>::kInfinity;
  if (!(s > 1)) return Format<double>::kNaN;
  if (q > 0) return zetaPositive(s, q);
  if (isInteger(-q)) return Format<double>::kInfinity;
  if (!isInteger(s)) return Format<double>::kNaN;
  const double distance = distanceToWhole(q);
  // The distances from q to the whole numbers below and above it. Each is exact where it is small.
  const double fraction = distance < 0 ? distance + 1 : distance, rest = distance < 0 ? -distance : 1 - distance;
  const double below = zetaPositive(s, rest) - zetaPositive(s, 1 - q);
  const bool odd = !isInteger(s * 0.5);
  return zetaPositive(s, fraction) + (odd ? -below : below);
}

}  // namespace detail

/// log(|gamma(x)|); inf at 0, at the negative whole numbers, and at both infinities.
template <class T>
SHUNT_ALWAYS_INLINE T lgamma(T x) {
  return static_cast<T>(detail::lgamma(static_cast<double>(x)));
}
/// The derivative of lgamma; -inf at +0, inf at -0, NaN at the negative whole numbers.
template <class T>
SHUNT_ALWAYS_INLINE T digamma(T x) {
  return static_cast<T>(detail::digamma(static_cast<double>(x)));
}
/// The derivative of digamma; inf at 0 and at the negative whole numbers.
template <class T>
SHUNT_ALWAYS_INLINE T trigamma(T x) {
  return static_cast<T>(detail::trigamma(static_cast<double>(x)));
}
/// Hurwitz's zeta function for s > 1. inf at s = 1 and at whole q <= 0; NaN for s < 1, and for other q < 0 unless s is
/// a whole number.
template <class T>
SHUNT_ALWAYS_INLINE T zeta(T s, T q) {
  return static_cast<T>(detail::zeta(static_cast<double>(s), static_cast<double>(q)));
}

}  // namespace shunt::math
