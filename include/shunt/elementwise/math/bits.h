// The building blocks of the scalar maths: the two IEEE formats, bit access, Horner's rule. Pure functions; any thread.
//
// Note [Scalar maths]
// Every function under shunt::math is a pure function of its arguments and always inlined. Those outside gamma.h have
// no branch on the hot path, so clang turns a simple loop that calls one into vector code. The only operations are
// + - * /, explicit fma, sqrt, abs, copysign, comparisons, selects and unsigned integer arithmetic. Each is exactly
// defined: a vector lane of any width, the scalar tail, and code that the JIT compiles later give the same bits.
// - Not allowed: libm names, contraction (-ffp-contract=off), fast-math.
// - Without FMA in the target, fma calls the C library, which is correct but slow.
// - Rounding to an integer adds kRoundShift, as SSE2 has no rounding instruction. It needs |x| < 2^(digits - 2).
// - A select written `x < c ? c : x` keeps a NaN x, and is one minimum or maximum instruction.
// - Polynomials are minimax fits. The weight is the error that matters, relative to the function's final value. Their
//   coefficients were rounded one by one and the later ones refitted. A comment beside each fit gives its error.
#pragma once

#include <shunt/core/macros.h>

#include <bit>
#include <cstdint>

namespace shunt::math {
inline constexpr double kPi = 0x1.921fb54442d18p+1;               // half a turn in radians
inline constexpr double kDegree = 0x1.1df46a2529d39p-6;           // pi / 180
inline constexpr double kDegreesOfRadian = 0x1.ca5dc1a63c1f8p+5;  // 180 / pi
}  // namespace shunt::math

namespace shunt::math::detail {

template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr uint32_t kBias = 127;
  static constexpr float kRoundShift = 0x1.8p23f;
  static constexpr float kIntegerUlp = 0x1p23f;  // from here on every value is an integer
  static constexpr float kMinNormal = 0x1p-126f;
  static constexpr float kInfinity = __builtin_inff();
  static constexpr float kNaN = __builtin_nanf("");
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr uint64_t kBias = 1023;
  static constexpr double kRoundShift = 0x1.8p52;
  static constexpr double kIntegerUlp = 0x1p52;
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kNaN = __builtin_nan("");
};

template <class T>
using BitsOf = typename Format<T>::Bits;

template <class T>
SHUNT_ALWAYS_INLINE BitsOf<T> toBits(T x) {
  return std::bit_cast<BitsOf<T>>(x);
}

SHUNT_ALWAYS_INLINE float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
SHUNT_ALWAYS_INLINE double fromBits(uint64_t bits) { return std::bit_cast<double>(bits); }

#ifdef __clang__
// The elementwise builtins are LLVM intrinsics under any flags; __builtin_fma and the like depend on -fno-math-errno.
template <class T>
SHUNT_ALWAYS_INLINE T fma(T a, T b, T c) {
  return __builtin_elementwise_fma(a, b, c);
}
template <class T>
SHUNT_ALWAYS_INLINE T abs(T x) {
  return __builtin_elementwise_abs(x);
}
template <class T>
SHUNT_ALWAYS_INLINE T copysign(T magnitude, T sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}
template <class T>
SHUNT_ALWAYS_INLINE T sqrt(T x) {
  return __builtin_elementwise_sqrt(x);
}
#else
SHUNT_ALWAYS_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SHUNT_ALWAYS_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
SHUNT_ALWAYS_INLINE float abs(float x) { return __builtin_fabsf(x); }
SHUNT_ALWAYS_INLINE double abs(double x) { return __builtin_fabs(x); }
SHUNT_ALWAYS_INLINE float copysign(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }
SHUNT_ALWAYS_INLINE double copysign(double magnitude, double sign) { return __builtin_copysign(magnitude, sign); }
SHUNT_ALWAYS_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
SHUNT_ALWAYS_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
#endif

/// c0 + x * (c1 + x * (c2 + ...)).
template <class T>
SHUNT_ALWAYS_INLINE T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
SHUNT_ALWAYS_INLINE T polynomial(T x, T c0, Rest... rest) {
  return fma(x, polynomial(x, rest...), c0);
}

/// An integer n as a floating-point number, and the sum n + kRoundShift. The sum's low mantissa bits are n modulo 2^k.
template <class T>
struct Rounded {
  T value;
  T shifted;
};

/// The integer n nearest to x * factor. `shifted` holds n + offset: `offset` must be even, and the sum as small as n.
template <class T>
SHUNT_ALWAYS_INLINE Rounded<T> roundProduct(T x, T factor, T offset = T(0)) {
  const T shift = Format<T>::kRoundShift + offset;
  const T shifted = fma(x, factor, shift);
  return {shifted - shift, shifted};
}

/// 2^(n + offset), which must be a normal number.
template <class T>
SHUNT_ALWAYS_INLINE T powerOfTwo(Rounded<T> n, BitsOf<T> offset = 0) {
  return fromBits(
      static_cast<BitsOf<T>>((toBits(n.shifted) + (Format<T>::kBias + offset)) << Format<T>::kMantissaBits));
}

}  // namespace shunt::math::detail
