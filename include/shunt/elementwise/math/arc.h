// asin, acos, atan and atan2 for float and double: at most 1 ULP (float) and 3 ULP (double) from the exact value. Float
// is evaluated in double. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {
namespace detail {

inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1, kQuarterPiLow = 0x1.1a62633145c07p-55;

/// (asin(s) / s - 1) / z, z = s^2 in [0, 1/4]; within 2^-58 of asin(s) / s.
SHUNT_ALWAYS_INLINE double asinTail(double z) {
  return polynomial(z, 0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6,
                    0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7,
                    0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
                    0x1.d72b2bc8155f8p-6);
}

/// (atan(t) / t - 1) / z, z = t^2, |t| up to tan(pi/8); within 2^-62 of atan(t) / t.
SHUNT_ALWAYS_INLINE double atanTail(double z) {
  return polynomial(z, -0x1.5555555555555p-2, 0x1.9999999999952p-3, -0x1.249249248d6ffp-3, 0x1.c71c71c2f9595p-4,
                    -0x1.745d165bbedbap-4, 0x1.3b13929a1f007p-4, -0x1.110e8391a1d32p-4, 0x1.e199acf4935d9p-5,
                    -0x1.ac779f208572fp-5, 0x1.74d05be3ef6c4p-5, -0x1.1b111b10989f4p-5, 0x1.0a86bcd0a5c08p-6);
}

/// asin of a reduced magnitude. Up to 1/2 this is |x| itself; beyond, it is sqrt((1 - |x|) / 2), whose asin is half the
/// angle from asin(|x|) to pi/2.
struct AsinReduced {
  double value;
  bool near_one;
};
SHUNT_ALWAYS_INLINE AsinReduced asinReduce(double magnitude) {
  const bool near_one = magnitude > 0.5;
  const double halved = (1.0 - magnitude) * 0.5;  // negative for magnitudes above 1: the root is NaN
  const double z = near_one ? halved : magnitude * magnitude;
  const double s = near_one ? sqrt(halved) : magnitude;
  return {fma(s * z, asinTail(z), s), near_one};
}

SHUNT_ALWAYS_INLINE double asin(double x) {
  const AsinReduced a = asinReduce(abs(x));
  const double outer = fma(-2.0, a.value, 2 * kQuarterPiLow) + 2 * kQuarterPi;
  return copysign(a.near_one ? outer : a.value, x);
}

SHUNT_ALWAYS_INLINE double acos(double x) {
  const AsinReduced a = asinReduce(abs(x));
  const bool negative = x < 0;
  const double inner = 2 * kQuarterPi - ((negative ? -a.value : a.value) - 2 * kQuarterPiLow);
  const double outer = negative ? 4 * kQuarterPi - fma(2.0, a.value, -4 * kQuarterPiLow) : 2 * a.value;
  return a.near_one ? outer : inner;
}

/// The angle of the point (x, y), y >= 0, from its magnitudes `low` <= `high`; `swapped`: |y| is `high`; `negative`: x
/// is negative. `t` is the tangent of the angle atan(low / high), measured from the nearer of the directions 0 and
/// pi/4. `steps` counts the quarters of pi to add.
SHUNT_ALWAYS_INLINE double atanFrom(double low, double high, bool swapped, bool negative) {
  const bool diagonal = low > 0x1.a827999fcef32p-2 * high;  // tan(pi/8)
  const double t = (diagonal ? low - high : low) / (diagonal ? low + high : high);
  const double z = t * t;
  const double angle = fma(t * z, atanTail(z), t);
  const double first = diagonal ? 1.0 : 0.0;
  const double turned = swapped ? 2.0 - first : first;
  const double steps = negative ? 4.0 - turned : turned;
  const double signed_angle = swapped != negative ? -angle : angle;
  return fma(steps, kQuarterPi, fma(steps, kQuarterPiLow, signed_angle));
}

SHUNT_ALWAYS_INLINE double atan(double x) {
  const double magnitude = abs(x);
  const bool swapped = magnitude > 1.0;
  return copysign(atanFrom(swapped ? 1.0 : magnitude, swapped ? magnitude : 1.0, swapped, false), x);
}

/// Scales both magnitudes, so that sums don't overflow and products don't lose bits. If both are zero the quotient is
/// 0; if both are infinite it is 1.
SHUNT_ALWAYS_INLINE double atan2(double y, double x) {
  constexpr double kInfinity = Format<double>::kInfinity;
  const double a = abs(y), b = abs(x);
  const bool swapped = a > b;
  const double high = swapped ? a : b, low = swapped ? b : a;
  const double scale = high > 0x1p1000 ? 0x1p-100 : (high < 0x1p-900 ? 0x1p100 : 1.0);
  const bool both_infinite = low == kInfinity;
  const double divisor = high == 0 || both_infinite ? 1.0 : high * scale;
  const double dividend = both_infinite ? 1.0 : low * scale;
  const double angle = atanFrom(dividend, divisor, swapped, copysign(1.0, x) < 0);
  const bool undefined = (x != x) | (y != y);
  return copysign(undefined ? Format<double>::kNaN : angle, y);
}

}  // namespace detail

/// In radians, in [-pi/2, pi/2]; NaN outside [-1, 1].
template <class T>
SHUNT_ALWAYS_INLINE T asin(T x) {
  return static_cast<T>(detail::asin(static_cast<double>(x)));
}
/// In radians, in [0, pi]; NaN outside [-1, 1].
template <class T>
SHUNT_ALWAYS_INLINE T acos(T x) {
  return static_cast<T>(detail::acos(static_cast<double>(x)));
}
/// In radians, in [-pi/2, pi/2]; +-pi/2 at +-inf.
template <class T>
SHUNT_ALWAYS_INLINE T atan(T x) {
  return static_cast<T>(detail::atan(static_cast<double>(x)));
}

/// The angle of the point (x, y) in radians, in [-pi, pi], with C99's special cases (ISO C, annex F).
template <class T>
SHUNT_ALWAYS_INLINE T atan2(T y, T x) {
  return static_cast<T>(detail::atan2(static_cast<double>(y), static_cast<double>(x)));
}

}  // namespace shunt::math
