// hypot for float and double: at most 1 ULP from the exact value, without intermediate overflow. See Note [Scalar
// maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {
namespace detail {

/// In double, the squares of floats neither overflow nor vanish.
SHUNT_ALWAYS_INLINE float hypotFinite(float x, float y) {
  const double a = x, b = y;
  return static_cast<float>(sqrt(fma(a, a, b * b)));
}

/// The root of the sum of squares, corrected by the rounding errors of all three steps.
SHUNT_ALWAYS_INLINE double hypotFinite(double x, double y) {
  const double high = x > y ? x : y, low = x > y ? y : x;
  const double scale = high > 0x1p500 ? 0x1p-600 : (high < 0x1p-450 ? 0x1p600 : 1.0);
  const double unscale = high > 0x1p500 ? 0x1p600 : (high < 0x1p-450 ? 0x1p-600 : 1.0);
  const double a = high * scale, b = low * scale;
  const double aa = a * a, bb = b * b;
  const double sum = aa + bb;
  const double rest = ((aa - sum) + bb) + (fma(a, a, -aa) + fma(b, b, -bb));
  const double root = sqrt(sum);
  const double correction = (fma(-root, root, sum) + rest) / (root + root);
  return (sum == 0 ? root : root + correction) * unscale;
}

}  // namespace detail

/// sqrt(x^2 + y^2). inf if an argument is infinite, even if the other is NaN.
template <class T>
SHUNT_ALWAYS_INLINE T hypot(T x, T y) {
  constexpr T kInfinity = detail::Format<T>::kInfinity;
  const T a = detail::abs(x), b = detail::abs(y);
  const T result = detail::hypotFinite(a, b);
  const T number = ((a != a) | (b != b)) ? detail::Format<T>::kNaN : result;
  return ((a == kInfinity) | (b == kInfinity)) ? kInfinity : number;
}

}  // namespace shunt::math
