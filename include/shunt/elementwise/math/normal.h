// normalCdf: the cumulative distribution function of the normal distribution, for float and double. Pure functions; any
// thread.
#pragma once

#include <shunt/elementwise/math/erf.h>

namespace shunt::math {
namespace detail {

/// -log2(2 Phi(-m)) / m, m in [0, kPhiRange]; its error moves Phi by 2^-26.9 at most.
SHUNT_ALWAYS_INLINE float upperTailExponent(float m) {
  return polynomial(m, 0x1.26aed4p+0f, 0x1.d63ac2p-2f, 0x1.ae0a86p-5f, -0x1.ced2dcp-8f, 0x1.1d2678p-13f,
                    0x1.87466ep-13f, -0x1.4b039ep-15f, 0x1.7d69b6p-19f);
}

inline constexpr float kPhiRange = 5.7f;  // beyond, Phi(-m) is below 2^-27

SHUNT_ALWAYS_INLINE float normalCdf(float x) {
  const float magnitude = abs(x);
  const float exponent = magnitude * upperTailExponent(magnitude);
  const Rounded<float> n = roundProduct(exponent, -1.0f);
  const float r = -exponent - n.value;
  const float power = powerOfTwo(n, static_cast<BitsOf<float>>(-1)) * fma(r, exp2Tail(r), 1.0f);
  const float tail = magnitude > kPhiRange ? 0.0f : power;
  return x > 0 ? 1 - tail : tail;
}
SHUNT_ALWAYS_INLINE double normalCdf(double x) { return 0.5 * (1 + erf(x * 0x1.6a09e667f3bcdp-1)); }

}  // namespace detail

/// Phi(x), the probability of at most x. Within 2^-23.8 (float) or 2^-52 (double) of the exact value, so a small result
/// has few correct digits; 0 and 1 far out. Float takes two thirds of the operations of (1 + erf(x / sqrt(2))) / 2.
template <class T>
SHUNT_ALWAYS_INLINE T normalCdf(T x) {
  return detail::normalCdf(x);
}

}  // namespace shunt::math
