// The error function for float and double: at most 1 ULP (float) and 2 ULP (double) from the exact value over the whole
// range. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {
namespace detail {

/// erf(x) / x - 1 as a function of s = x^2 in [0, 1]; within 2^-29 and 2^-56 of erf.
SHUNT_ALWAYS_INLINE float erfInner(float s) {
  return polynomial(s, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cfp-4f, -0x1.b7f858p-6f, 0x1.53ff92p-8f,
                    -0x1.a3c95cp-11f, 0x1.48edeep-14f);
}
SHUNT_ALWAYS_INLINE double erfInner(double s) {
  return polynomial(s, 0x1.06eba8214db68p-3, -0x1.812746b0379b1p-2, 0x1.ce2f21a04082ep-4, -0x1.b82ce311eba5fp-6,
                    0x1.565bccf79918cp-8, -0x1.c02db00a4932ep-11, 0x1.f9a2b66c1a28p-14, -0x1.f4ca130bd4b37p-17,
                    0x1.b97dc7cd14904p-20, -0x1.5bfb9f8386962p-23, 0x1.d6d1129df1c7dp-27, -0x1.aadfed8c5cab7p-31);
}

/// -log2(erfc(1 + u)) for u in [0, 3] (float) and [0, 5] (double), within 2^-27 and 2^-56 of erf. Expanded at 1, where
/// erfc matters most: there the terms add up without cancellation.
SHUNT_ALWAYS_INLINE float erfcExponent(float u) {
  return polynomial(u, 0x1.558eaep+1f, 0x1.e7531cp+1f, 0x1.376382p+0f, 0x1.eaaeaap-5f, -0x1.d699dp-7f, 0x1.6ac854p-9f,
                    -0x1.706a52p-12f, 0x1.3c3506p-16f);
}
SHUNT_ALWAYS_INLINE double erfcExponent(double u) {
  return polynomial(u, 0x1.558eada6637f3p+1, 0x1.e75328fe78c2dp+1, 0x1.37627e9b5d894p+0, 0x1.eb313685e2843p-5,
                    -0x1.da57640dfbcb9p-7, 0x1.7603d9935007p-9, -0x1.6701a9bcd0d17p-12, -0x1.3e3e4c0695c13p-15,
                    0x1.492b0a2a875ecp-15, -0x1.d42ffc0496d73p-17, 0x1.9cdcc13e8b316p-19, -0x1.3d969dbb0e7bep-22,
                    -0x1.66ad712446307p-24, 0x1.9d263a1ec35a1p-25, -0x1.a5894216873eep-27, 0x1.05032cccdf2p-29,
                    -0x1.79a60252db655p-33, 0x1.ec8c223aa2407p-38);
}

/// (2^r - 1) / r for |r| <= 1/2, within 2^-28 and 2^-52 of 2^r.
SHUNT_ALWAYS_INLINE float exp2Tail(float r) {
  return polynomial(r, 0x1.62e43p-1f, 0x1.ebfbd8p-3f, 0x1.c6af76p-5f, 0x1.3b30a8p-7f, 0x1.5f0baep-10f, 0x1.3f9a64p-13f);
}
SHUNT_ALWAYS_INLINE double exp2Tail(double r) {
  return polynomial(r, 0x1.62e42fefa3a12p-1, 0x1.ebfbdff82c447p-3, 0x1.c6b08d703e14p-5, 0x1.3b2ab6fbd49d4p-7,
                    0x1.5d87fe9b9f596p-10, 0x1.43091270fc7edp-13, 0x1.ffcb588515ed9p-17, 0x1.62c13dfeaa529p-20,
                    0x1.b672068b46902p-24, 0x1.e3b6bd15ecd04p-28);
}

/// From this |x| on, erf rounds to +-1.
template <class T>
inline constexpr T kErfSaturated = T(4);
template <>
inline constexpr double kErfSaturated<double> = 6.0;

}  // namespace detail

/// +-1 at +-inf; keeps the sign of zero.
template <class T>
SHUNT_ALWAYS_INLINE T erf(T x) {
  using detail::fma;
  constexpr T kLimit = detail::kErfSaturated<T>;
  const T magnitude = detail::abs(x);
  const T inner = fma(magnitude, detail::erfInner(magnitude * magnitude), magnitude);

  const T clamped = magnitude > kLimit ? kLimit : magnitude;
  const T exponent = detail::erfcExponent(clamped - T(1));
  const detail::Rounded<T> n = detail::roundProduct(exponent, T(-1));
  const T r = -exponent - n.value;
  const T outer = fma(-detail::powerOfTwo(n), fma(r, detail::exp2Tail(r), T(1)), T(1));
  return detail::copysign(magnitude < T(1) ? inner : outer, x);
}

}  // namespace shunt::math
