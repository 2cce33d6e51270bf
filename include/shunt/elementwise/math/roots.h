// sqrt, and rsqrt as 1 / sqrt(x): two correctly rounded operations, as PyTorch computes it, at most 1.5 ULP from the
// exact value in float and double. See Note [Scalar maths] in bits.h. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math {

/// Correctly rounded; NaN below 0.
template <class T>
SHUNT_ALWAYS_INLINE T sqrt(T x) {
  return detail::sqrt(x);
}

/// 1 / sqrt(x); +-inf at +-0, NaN below 0.
template <class T>
SHUNT_ALWAYS_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

}  // namespace shunt::math
