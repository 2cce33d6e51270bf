// nextafter for float and double: the next number in a direction, exactly. See Note [Scalar maths] in bits.h. Pure
// functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {

/// The number next to x in the direction of y. If they are equal it is y (with the sign of y's zero); if one is NaN it
/// is NaN.
template <class T>
SHUNT_ALWAYS_INLINE T nextafter(T x, T y) {
  using Bits = detail::BitsOf<T>;
  const Bits bits = detail::toBits(x);
  // Away from zero the bit pattern grows, for both signs.
  const bool away = (x < y) == (x > T(0));
  const T moved = detail::fromBits(static_cast<Bits>(away ? bits + 1 : bits - 1));
  const T from_zero = detail::copysign(detail::fromBits(Bits{1}), y);
  const T next = x == T(0) ? from_zero : moved;
  const T result = x == y ? y : next;
  return ((x != x) | (y != y)) ? detail::Format<T>::kNaN : result;
}

}  // namespace shunt::math
