// exp and expm1 for float and double.
//
// - exp: at most 1 ULP (float) and 2 ULP (double) from the exact value over the whole range, denormal results included.
//   exp(-inf) = 0; overflow gives inf.
// - expm1: at most 2 ULP.
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {
namespace detail {

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr float kLog2e = 0x1.715476p+0f;
  // The upper part of ln 2 is rounded down, so that x - n * kLn2Hi is exact in one fma.
  static constexpr float kLn2Hi = 0x1.62e42ep-1f, kLn2Lo = 0x1.efa39ep-25f;
  static constexpr float kLow = -104.0f;         // exp is below half of the smallest denormal
  static constexpr float kHigh = 89.0f;          // exp overflows
  static constexpr float kLowMinusOne = -40.0f;  // expm1 is -1
  static constexpr float kTiny = 0x1p-26f;       // expm1(x) and log1p(x) are x
};

template <>
struct ExpConstants<double> {
  static constexpr double kLog2e = 0x1.71547652b82fep+0;
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kLow = -746.0;
  static constexpr double kHigh = 710.0;
  static constexpr double kLowMinusOne = -60.0;
  static constexpr double kTiny = 0x1p-55;
};

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, within 2^-28 of e^r.
SHUNT_ALWAYS_INLINE float expTail(float r) {
  return polynomial(r, 0x1.fffffcp-2f, 0x1.55548ep-3f, 0x1.5558a8p-5f, 0x1.123beep-7f, 0x1.6a574p-10f);
}
/// The same within 2^-31 of e^r - 1.
SHUNT_ALWAYS_INLINE float expm1Tail(float r) {
  return polynomial(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554fp-5f, 0x1.111308p-7f, 0x1.6d4388p-10f, 0x1.9e0814p-13f);
}
/// The same within 2^-61 of e^r - 1.
SHUNT_ALWAYS_INLINE double expm1Tail(double r) {
  return polynomial(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555554cp-5, 0x1.111111110f64cp-7, 0x1.6c16c16c1b32bp-10,
                    0x1.a01a01b009b4cp-13, 0x1.a01a018b45b9ep-16, 0x1.71ddf7fa09b4cp-19, 0x1.27e5197158ea2p-22,
                    0x1.af5f5a5769087p-26, 0x1.1f106e3622eeap-29);
}
SHUNT_ALWAYS_INLINE double expTail(double r) { return expm1Tail(r); }

/// x = n ln 2 + r, |r| <= ln(2) / 2.
template <class T>
struct ExpReduced {
  Rounded<T> n;
  T r;
};

/// `offset`: see roundProduct.
template <class T>
SHUNT_ALWAYS_INLINE ExpReduced<T> expReduce(T x, T offset = T(0)) {
  using C = ExpConstants<T>;
  const Rounded<T> n = roundProduct(x, C::kLog2e, offset);
  return {n, fma(n.value, -C::kLn2Lo, fma(n.value, -C::kLn2Hi, x))};
}

/// The offset in n that expScale expects: twice the exponents' bias.
template <class T>
inline constexpr T kScaleOffset = T(2 * Format<T>::kBias);

/// mantissa * 2^n with one rounding, also for denormal results. The mantissa is near 1, n is at least twice the least
/// exponent, and `n` was made with kScaleOffset.
template <class T>
SHUNT_ALWAYS_INLINE T expScale(T mantissa, Rounded<T> n) {
  // 2^n is the product of two powers, as n may be above and below the exponents' range: 2^floor(n/2), whose product
  // with the mantissa is exact, and the rest. Their biased exponents are the halves of n + 2 * kBias. This takes one
  // shift and three operations of any unit. With a comparison and two selects between factors for large and small n,
  // all of exp took 1.2 times as long with AVX2.
  const BitsOf<T> halved = toBits(n.shifted) << (Format<T>::kMantissaBits - 1);
  const BitsOf<T> first = halved & toBits(Format<T>::kInfinity);
  return mantissa * fromBits(first) * fromBits(halved + halved - first);
}

/// exp(x) for x <= kHigh.
template <class T>
SHUNT_ALWAYS_INLINE T expBounded(T x) {
  using C = ExpConstants<T>;
  const T clamped = x < C::kLow ? C::kLow : x;
  const ExpReduced<T> a = expReduce(clamped, kScaleOffset<T>);
  return expScale(fma(a.r, fma(a.r, expTail(a.r), T(1)), T(1)), a.n);
}

}  // namespace detail

/// e^x.
template <class T>
SHUNT_ALWAYS_INLINE T exp(T x) {
  constexpr T kHigh = detail::ExpConstants<T>::kHigh;
  return detail::expBounded(x > kHigh ? kHigh : x);
}

/// e^x - 1, without cancellation near 0; -1 at -inf.
template <class T>
SHUNT_ALWAYS_INLINE T expm1(T x) {
  using C = detail::ExpConstants<T>;
  const T high = x > C::kHigh ? C::kHigh : x;
  const detail::ExpReduced<T> a = detail::expReduce(high < C::kLowMinusOne ? C::kLowMinusOne : high);
  const T q = detail::fma(a.r * a.r, detail::expm1Tail(a.r), a.r);
  const T half_power = detail::powerOfTwo(a.n, static_cast<detail::BitsOf<T>>(-1));
  const T result = detail::fma(half_power, q, half_power - T(0.5)) * T(2);
  return detail::abs(x) < C::kTiny ? x : result;
}

}  // namespace shunt::math
