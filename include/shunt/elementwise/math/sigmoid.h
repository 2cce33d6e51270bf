// The logistic function 1 / (1 + e^-x) for float and double: at most 2.5 ULP from the exact value over the whole range,
// denormal results included. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/exp.h>

namespace shunt::math {

/// 0 at -inf, 1 at inf.
template <class T>
SHUNT_ALWAYS_INLINE T sigmoid(T x) {
  // e^-|x| doesn't overflow. For negative x, e^x / (1 + e^x) keeps the relative accuracy down to the denormals.
  const T e = detail::expBounded(-detail::abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

}  // namespace shunt::math
