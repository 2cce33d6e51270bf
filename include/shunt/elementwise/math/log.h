// Natural logarithms for float and double.
//
// - log: at most 1 ULP (float) and 2 ULP (double) from the exact value over the whole range, with denormal arguments.
//   log(0) = -inf; log of a negative number is NaN.
// - log1p: at most 2 ULP.
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/exp.h>

namespace shunt::math {
namespace detail {

/// x = (1 + f) * 2^exponent with 1 + f in [2/3, 4/3), f exact.
template <class T>
struct LogReduced {
  T f;
  T exponent;
};

/// x must be positive and finite; other values give a finite, meaningless result.
template <class T>
SHUNT_ALWAYS_INLINE LogReduced<T> logReduce(T x) {
  using F = Format<T>;
  using Bits = BitsOf<T>;
  constexpr T kLift = T(Bits{1} << (F::kMantissaBits + 2));
  constexpr T kLiftExponent = T(F::kMantissaBits + 2);
  const Bits kTwoThirds = toBits(T(2) / T(3));
  const Bits kMantissaMask = (Bits{1} << F::kMantissaBits) - 1;

  const bool denormal = x < F::kMinNormal;
  // Biased, so that a logical shift is enough: AVX2 has no arithmetic shift of 64 bits.
  const Bits offset = toBits(denormal ? x * kLift : x) - kTwoThirds + (F::kBias << F::kMantissaBits);
  const T mantissa = fromBits(static_cast<Bits>((offset & kMantissaMask) + kTwoThirds));
  // An integer below 2^kMantissaBits under the exponent of kIntegerUlp is that integer above kIntegerUlp.
  const T biased = fromBits(static_cast<Bits>((offset >> F::kMantissaBits) | toBits(F::kIntegerUlp)));
  const T zero = F::kIntegerUlp + T(F::kBias);
  return {mantissa - T(1), biased - (denormal ? zero + kLiftExponent : zero)};
}

/// log(1 + f) - f for 1 + f in [2/3, 4/3); the fit is within 2^-27 of log(1 + f).
SHUNT_ALWAYS_INLINE float logTail(float f) {
  const float p = polynomial(f, 0x1.555506p-2f, -0x1.ffff76p-3f, 0x1.99d03ap-3f, -0x1.55862p-3f, 0x1.1ed77cp-3f,
                             -0x1.f59fbep-4f, 0x1.1e609ap-3f, -0x1.027d94p-3f);
  return f * f * fma(f, p, -0.5f);
}

/// The same; with s = f / (2 + f), log(1 + f) = 2 s + s^3 R(s^2) = f - s (f - s^2 R). The fit is within 2^-55.
SHUNT_ALWAYS_INLINE double logTail(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double r = polynomial(z, 0x1.5555555555786p-1, 0x1.99999998ec7fap-2, 0x1.249249b52185p-2, 0x1.c71bff76f9fdap-3,
                              0x1.7475325db0248p-3, 0x1.384c8fc570d79p-3, 0x1.3aef612580766p-3);
  return -s * fma(-z, r, f);
}

/// log of (1 + f) * 2^exponent * (1 + relative), |relative| within an ULP of 1.
template <class T>
SHUNT_ALWAYS_INLINE T logCombine(LogReduced<T> a, T relative) {
  using C = ExpConstants<T>;
  const T low = fma(a.exponent, C::kLn2Lo, logTail(a.f) + relative);
  return fma(a.exponent, C::kLn2Hi, a.f + low);
}

/// `result` if x is positive and finite, else the special value of log.
template <class T>
SHUNT_ALWAYS_INLINE T logSpecial(T x, T result) {
  using F = Format<T>;
  const T not_positive = x == T(0) ? -F::kInfinity : F::kNaN;
  const T outside = x > T(0) ? F::kInfinity : not_positive;
  const bool inside = (x > T(0)) & (x < F::kInfinity);
  return inside ? result : outside;
}

}  // namespace detail

/// -inf at 0, NaN below 0.
template <class T>
SHUNT_ALWAYS_INLINE T log(T x) {
  return detail::logSpecial(x, detail::logCombine(detail::logReduce(x), T(-0.0)));
}

/// log(1 + x), accurate for small x; -inf at -1, NaN below.
template <class T>
SHUNT_ALWAYS_INLINE T log1p(T x) {
  const T u = T(1) + x;
  // The rounding error of the sum counts to first order: log(u + e) = log(u) + e / u.
  const T lost = detail::abs(x) < T(1) ? x - (u - T(1)) : T(1) - (u - x);
  const T result = detail::logCombine(detail::logReduce(u), lost / u);
  return detail::abs(x) < detail::ExpConstants<T>::kTiny ? x : detail::logSpecial(u, result);
}

}  // namespace shunt::math
