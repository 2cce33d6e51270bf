// sin, cos and tan for float and double: at most 1 ULP (float) and 2 ULP (double; tan 3) from the exact value over the
// whole range.
//
// There are two halves, so that loops over ordinary arguments have no branches:
// - trigInFastRange(x): |x| is at most 2^28 (float) or 2^20 (double); true for NaN.
// - sinFast, cosFast, tanFast: right where trigInFastRange is true; branch-free, vectorise.
// - sin, cos, tan: right everywhere. In the fast range, sin(x) has the bits of sinFast(x).
//
// A loop over an array runs a block (64 elements, say) through sinFast and ANDs trigInFastRange over the block. If that
// is false, it overwrites the block element by element with sin. Every element gets the bits of sin(x) either way, so
// blocks may start anywhere. In place, the loop must keep a block's inputs until the block is known to be good.
//
// See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/payne_hanek.h>

namespace shunt::math {
namespace detail {

template <class T>
inline constexpr T kTrigFastLimit = T(0x1p28);
template <>
inline constexpr double kTrigFastLimit<double> = 0x1p20;

/// Float arguments are reduced and evaluated in double. The one rounding to float then leaves little more than 0.5 ULP,
/// and the fast range holds all realistic arguments. The fits are within 2^-27 of sin and 2^-33 of cos.
SHUNT_ALWAYS_INLINE double sinTail(double z, float) {
  return polynomial(z, -0x1.555545226c5bap-3, 0x1.1107393bea532p-7, -0x1.994346172233bp-13);
}
SHUNT_ALWAYS_INLINE double cosTail(double z, float) {
  return polynomial(z, 0x1.55554a116e6a1p-5, -0x1.6c0c33618c15dp-10, 0x1.99eb78437cfe3p-16);
}
/// Within 2^-57 of sin and 2^-63 of cos.
SHUNT_ALWAYS_INLINE double sinTail(double z, double) {
  return polynomial(z, -0x1.5555555555548p-3, 0x1.111111110f75cp-7, -0x1.a01a019bf1f86p-13, 0x1.71de355eddd07p-19,
                    -0x1.ae5e5452f11dep-26, 0x1.5d8e2c5182eaap-33);
}
SHUNT_ALWAYS_INLINE double cosTail(double z, double) {
  return polynomial(z, 0x1.555555555554bp-5, -0x1.6c16c16c15017p-10, 0x1.a01a019c8f65p-16, -0x1.27e4f7f1be265p-22,
                    0x1.1ee9dbe9471c3p-29, -0x1.8fa68f2e296e3p-37);
}

/// x - n pi/2 in three steps. The first is exact, the second rounds, the third matters if x is nearly a multiple of
/// pi/2.
template <class T>
SHUNT_ALWAYS_INLINE TrigReduced trigReduceFast(T x) {
  const Rounded<double> n = roundProduct(static_cast<double>(x), 0x1.45f306dc9c883p-1);
  double r = fma(n.value, -kHalfPi1, static_cast<double>(x));
  r = fma(n.value, -kHalfPi2, r);
  r = fma(n.value, -kHalfPi3, r);
  return {r, toBits(n.shifted)};
}

/// sin of quadrant * pi/2 + r.
template <class T>
SHUNT_ALWAYS_INLINE T trigEvaluate(TrigReduced a) {
  const double z = a.r * a.r;
  // copysign, as r - r^3/6 loses the sign of -0.
  const double sine = copysign(fma(a.r * z, sinTail(z, T(0)), a.r), a.r);
  const double cosine = fma(z, fma(z, cosTail(z, T(0)), -0.5), 1.0);
  const double value = (a.quadrant & 1) != 0 ? cosine : sine;
  return static_cast<T>(fromBits(toBits(value) ^ ((a.quadrant & 2) << 62)));
}

/// tan of quadrant * pi/2 + r: in odd quadrants the negated cotangent.
template <class T>
SHUNT_ALWAYS_INLINE T tanEvaluate(TrigReduced a) {
  const double z = a.r * a.r;
  const double sine = copysign(fma(a.r * z, sinTail(z, T(0)), a.r), a.r);
  const double cosine = fma(z, fma(z, cosTail(z, T(0)), -0.5), 1.0);
  const bool odd = (a.quadrant & 1) != 0;
  return static_cast<T>((odd ? -cosine : sine) / (odd ? sine : cosine));
}

/// The slow half, for arguments outside the fast range; NaN for infinity.
template <class T>
SHUNT_ALWAYS_INLINE T trigFull(T x, uint64_t quarter_turns) {
  if (!(abs(x) < Format<T>::kInfinity)) return Format<T>::kNaN;
  TrigReduced a = reducePayneHanek(static_cast<double>(x));
  a.quadrant += quarter_turns;
  return trigEvaluate<T>(a);
}

}  // namespace detail

/// Whether the fast functions may be called for x, in radians.
template <class T>
SHUNT_ALWAYS_INLINE bool trigInFastRange(T x) {
  return !(detail::abs(x) > detail::kTrigFastLimit<T>);
}

/// sin of x in radians, which must be in the fast range.
template <class T>
SHUNT_ALWAYS_INLINE T sinFast(T x) {
  return detail::trigEvaluate<T>(detail::trigReduceFast(x));
}

/// cos of x in radians, which must be in the fast range.
template <class T>
SHUNT_ALWAYS_INLINE T cosFast(T x) {
  detail::TrigReduced a = detail::trigReduceFast(x);
  a.quadrant += 1;  // cos(x) = sin(x + pi/2)
  return detail::trigEvaluate<T>(a);
}

/// tan of x in radians, which must be in the fast range.
template <class T>
SHUNT_ALWAYS_INLINE T tanFast(T x) {
  return detail::tanEvaluate<T>(detail::trigReduceFast(x));
}

/// sin of any x in radians; NaN at +-inf.
template <class T>
SHUNT_ALWAYS_INLINE T sin(T x) {
  return trigInFastRange(x) ? sinFast(x) : detail::trigFull(x, 0);
}

/// cos of any x in radians; NaN at +-inf.
template <class T>
SHUNT_ALWAYS_INLINE T cos(T x) {
  return trigInFastRange(x) ? cosFast(x) : detail::trigFull(x, 1);
}

/// tan of any x in radians; NaN at +-inf.
template <class T>
SHUNT_ALWAYS_INLINE T tan(T x) {
  if (trigInFastRange(x)) return tanFast(x);
  if (!(detail::abs(x) < detail::Format<T>::kInfinity)) return detail::Format<T>::kNaN;
  return detail::tanEvaluate<T>(detail::reducePayneHanek(static_cast<double>(x)));
}

}  // namespace shunt::math
