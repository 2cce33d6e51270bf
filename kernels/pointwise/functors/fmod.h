// The floating-point remainder a - b * trunc(a / b), exact as in IEEE 754 and C, for float and double. No libm.
//
// A quotient below 2^50 is off by at most one after rounding, and a - q b is then exact in one fma: the only possible
// correction adds b once. Larger quotients are taken down by multiples b * 2^k first, which leaves the remainder as it
// is. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::functors {

namespace fmod_detail {

using math::detail::fromBits;
using math::detail::toBits;

/// The remainder of a by b, 0 <= a, 0 < b normal, a / b < 2^50.
SHUNT_ALWAYS_INLINE double small(double a, double b) {
  const double q = __builtin_elementwise_trunc(a / b);
  const double r = math::detail::fma(-q, b, a);
  return r < 0 ? r + b : r;
}

SHUNT_ALWAYS_INLINE int64_t exponentOf(double positive) { return static_cast<int64_t>(toBits(positive) >> 52); }

/// Finite a >= 0, b > 0.
SHUNT_ALWAYS_INLINE double positive(double a, double b) {
  double scale = 1;
  if (b < 0x1p-900) {  // so that b is normal and products with it don't vanish; powers of two don't change digits
    b *= 0x1p200;
    if (a < 0x1p700) {
      a *= 0x1p200;
      scale = 0x1p-200;
    } else {
      // a is a multiple of every b 2^k that is below it; reduce it by such a one until it may be scaled.
      while (a >= 0x1p700)
        a = small(a, fromBits(toBits(b) + (static_cast<uint64_t>(exponentOf(a) - exponentOf(b) - 40) << 52)));
      a *= 0x1p200;
      scale = 0x1p-200;
    }
  }
  for (int64_t gap = exponentOf(a) - exponentOf(b); gap > 48; gap = exponentOf(a) - exponentOf(b)) {
    a = small(a, fromBits(toBits(b) + (static_cast<uint64_t>(gap - 40) << 52)));
  }
  return small(a, b) * scale;
}

}  // namespace fmod_detail

template <class C>
SHUNT_ALWAYS_INLINE C fmod(C a, C b) {
  const double x = math::detail::abs(static_cast<double>(a)), y = math::detail::abs(static_cast<double>(b));
  constexpr double kInfinity = __builtin_inf();
  if (!(x < kInfinity) || y == 0 || y != y) return math::detail::Format<C>::kNaN;
  if (x < y) return a;
  return math::detail::copysign(static_cast<C>(fmod_detail::positive(x, y)), a);
}

}  // namespace shunt::functors
