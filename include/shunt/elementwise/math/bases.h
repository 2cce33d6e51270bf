// exp2, log2 and log10 for float and double: at most 1 ULP (float) and 2 ULP (double) from the exact value. Exact if
// the result is an integer. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/pow.h>

namespace shunt::math {
namespace detail {

template <class T>
struct Exp2Range;
template <>
struct Exp2Range<float> {
  static constexpr float kLow = -151.0f, kHigh = 129.0f;
};
template <>
struct Exp2Range<double> {
  static constexpr double kLow = -1077.0, kHigh = 1025.0;
};

/// The base of a logarithm: the logarithms of 2 and of e to that base, each as a sum of two doubles.
struct LogBase {
  DoubleDouble two, inverse;
};
inline constexpr LogBase kBase2 = {{1.0, 0.0}, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}};
inline constexpr LogBase kBase10 = {{0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59},
                                    {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}};

/// The logarithm of a positive finite number to a base. For double, the fraction's logarithm is computed to 2^-64, so
/// that the sum is rounded once.
SHUNT_ALWAYS_INLINE double logToBase(double x, LogBase base) {
  const LogReduced<double> a = logReduce(x);
  const DoubleDouble fraction = multiply(logDoubleDouble(a.f), base.inverse);
  const double whole = a.exponent * base.two.high;
  const double whole_low = fma(a.exponent, base.two.high, -whole) + a.exponent * base.two.low;
  const DoubleDouble sum = fastTwoSum(whole, fraction.high);
  return sum.high + (sum.low + (fraction.low + whole_low));
}
SHUNT_ALWAYS_INLINE float logToBase(float x, LogBase base) {
  const LogReduced<double> a = logReduce(static_cast<double>(x));
  const double log = a.f + logTail(a.f);
  return static_cast<float>(fma(a.exponent, base.two.high, log * base.inverse.high));
}

}  // namespace detail

/// 2^x; overflow gives inf.
template <class T>
SHUNT_ALWAYS_INLINE T exp2(T x) {
  using C = detail::ExpConstants<T>;
  using R = detail::Exp2Range<T>;
  const T below = x > R::kHigh ? R::kHigh : x;
  const T bounded = below < R::kLow ? R::kLow : below;
  const detail::Rounded<T> n = detail::roundProduct(bounded, T(1), detail::kScaleOffset<T>);
  const T fraction = bounded - n.value;
  const T r = fraction * C::kLn2Hi;
  const T r_low = detail::fma(fraction, C::kLn2Lo, detail::fma(fraction, C::kLn2Hi, -r));
  return detail::expScale(T(1) + (r + detail::fma(r * r, detail::expTail(r), r_low)), n);
}

/// -inf at 0, NaN below 0; exact for powers of two.
template <class T>
SHUNT_ALWAYS_INLINE T log2(T x) {
  return detail::logSpecial(x, detail::logToBase(x, detail::kBase2));
}
/// -inf at 0, NaN below 0; exact for powers of ten.
template <class T>
SHUNT_ALWAYS_INLINE T log10(T x) {
  return detail::logSpecial(x, detail::logToBase(x, detail::kBase10));
}

}  // namespace shunt::math
