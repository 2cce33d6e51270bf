// tanh for float and double: at most 1 ULP (float) and 2 ULP (double) from the exact value over the whole range.
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/exp.h>

namespace shunt::math {
namespace detail {

template <class T>
struct TanhConstants;

template <>
struct TanhConstants<float> {
  static constexpr float kInner = 1.0f;       // below this, the polynomial is used
  static constexpr float kSaturated = 10.0f;  // from here on, tanh rounds to 1
};

template <>
struct TanhConstants<double> {
  static constexpr double kInner = 0.75;
  static constexpr double kSaturated = 20.0;
};

/// tanh(x) / x - 1 as a function of s = x^2, |x| <= kInner; within 2^-27 and 2^-54 of tanh.
SHUNT_ALWAYS_INLINE float tanhInner(float s) {
  return polynomial(s, -0x1.220f9p-28f, -0x1.55553p-2f, 0x1.110accp-3f, -0x1.b94c44p-5f, 0x1.5f9a16p-6f,
                    -0x1.03333ap-7f, 0x1.2a6ba6p-9f, -0x1.70d692p-12f);
}
SHUNT_ALWAYS_INLINE double tanhInner(double s) {
  return polynomial(s, -0x1.f3768b161a21dp-56, -0x1.5555555555427p-2, 0x1.111111110247fp-3, -0x1.ba1ba1b105913p-5,
                    0x1.664f470e8b7ddp-6, -0x1.226e11cb0c749p-7, 0x1.d6cf6db72543bp-9, -0x1.7d74a686a15d7p-10,
                    0x1.33ffa3dca38c1p-11, -0x1.e7a2a503bd4d5p-13, 0x1.64de16c4773e5p-14, -0x1.9fa0499fa41eap-16,
                    0x1.0f50dc7ef3f4p-18);
}

}  // namespace detail

/// +-1 at +-inf; keeps the sign of zero.
template <class T>
SHUNT_ALWAYS_INLINE T tanh(T x) {
  using detail::fma;
  using C = detail::TanhConstants<T>;
  const T magnitude = detail::abs(x);
  const T inner = fma(magnitude, detail::tanhInner(magnitude * magnitude), magnitude);

  // 1 - 2 / (E + 1), E = e^(2 |x|). From kInner on, the second term and its error are small enough.
  const T clamped = magnitude > C::kSaturated ? C::kSaturated : magnitude;
  const detail::ExpReduced<T> a = detail::expReduce(clamped * T(2));
  const T mantissa = fma(a.r, fma(a.r, detail::expTail(a.r), T(1)), T(1));
  const T outer = T(1) - T(2) / fma(mantissa, detail::powerOfTwo(a.n), T(1));
  return detail::copysign(magnitude < C::kInner ? inner : outer, x);
}

}  // namespace shunt::math
