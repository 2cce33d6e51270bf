// nextafter for float and double: the next number in a direction, exactly. See Note [Scalar maths] in bits.h. Pure
// functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {

/// The number next to x on the way to y; y where they are equal (so with its zero's sign), NaN where one is NaN.
template <class T>
SHUNT_ALWAYS_INLINE T nextafter(T x, T y) {
  using Bits = detail::BitsOf<T>;
  const Bits bits = detail::toBits(x);
  // Away from zero the pattern grows, whatever the sign.
  const bool away = (x < y) == (x > T(0));
  const T moved = detail::fromBits(static_cast<Bits>(away ? bits + 1 : bits - 1));
  const T from_zero = detail::copysign(detail::fromBits(Bits{1}), y);
  const T next = x == T(0) ? from_zero : moved;
  const T result = x == y ? y : next;
  return ((x != x) | (y != y)) ? detail::Format<T>::kNaN : result;
}

}  // namespace shunt::math
