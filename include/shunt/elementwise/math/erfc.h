// The complementary error function 1 - erf(x) for float and double: at most 1 ULP (float) and 4 ULP (double) from the
// exact value over the whole range, denormal results included. Float is evaluated in double. See Note [Scalar maths] in
// bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/pow.h>

namespace shunt::math {
namespace detail {

/// ((1 + 2 a) e^(a^2) erfc(a) - 1) / w with w = 2 a / (a + 4), as a function of w - 1 (after M. Shepherd, J.
/// Laframboise: Chebyshev approximation of (1 + 2x) exp(x^2) erfc x, 1981); times w within 2^-57.
SHUNT_ALWAYS_INLINE double erfcScaled(double t) {
  return polynomial(t, 0x1.dd2c8b74febf6p-3, -0x1.7d8f1c4524744p-2, 0x1.8d4ecb405c605p-2, -0x1.47938f4c7301ep-2,
                    0x1.c0398cb6f17c7p-3, -0x1.00428c8fecbd9p-3, 0x1.e1a9564319615p-5, -0x1.625ed096f0cd3p-6,
                    0x1.63f2604d65536p-8, -0x1.a2bee16fca634p-12, -0x1.77d656aa91f28p-12, 0x1.4dcdbd21cc492p-13,
                    -0x1.1ed4906f6952fp-17, -0x1.09f47c11be457p-16, 0x1.36ae5aac99835p-18, 0x1.229bfc020a973p-20,
                    -0x1.a6816993b7544p-21, -0x1.62e46f8a5d2d2p-25, 0x1.e51e8951952b9p-24, -0x1.609ec78ce4ad8p-30,
                    -0x1.e132b42fe4466p-27, -0x1.e761ac32d8b3dp-35, 0x1.015ea224cc28cp-30);
}

/// From here on erfc is below half of the smallest denormal; the exponential's argument is still in its range.
inline constexpr double kErfcHigh = 27.3;

SHUNT_ALWAYS_INLINE double erfc(double x) {
  const double magnitude = abs(x);
  const double a = magnitude > kErfcHigh ? kErfcHigh : magnitude;
  const double w = 2 * a / (a + 4);
  const double scaled = fma(w, erfcScaled(w - 1), 1.0);
  const double square = a * a;
  const double power = expDoubleDouble(-square, -fma(a, a, -square));
  const double result = power * (scaled / fma(2.0, a, 1.0));
  return x < 0 ? 2 - result : result;
}

}  // namespace detail

/// 2 at -inf, 0 at inf.
template <class T>
SHUNT_ALWAYS_INLINE T erfc(T x) {
  return static_cast<T>(detail::erfc(static_cast<double>(x)));
}

}  // namespace shunt::math
