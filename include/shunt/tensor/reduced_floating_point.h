// Arithmetic of the 16-bit floating-point types, Half and BFloat16. One definition serves both. Values only; any
// thread.
//
// - Every operation converts to float, computes in float and rounds once.
// - Mixed with float or double, the result has the wider type. Mixed with an integer, it stays 16 bits wide, as in
//   PyTorch.
// - Comparisons are those of float, by the types' implicit conversion.
#pragma once

#include <shunt/core/macros.h>

#include <concepts>
#include <functional>
#include <ostream>
#include <type_traits>

namespace shunt {

struct Half;
struct BFloat16;

/// A type that is stored in 16 bits and computed in float.
template <class T>
concept ReducedFloatingPoint = std::same_as<T, Half> || std::same_as<T, BFloat16>;

#define SHUNT_REDUCED_OPERATOR(op)                                      \
  template <ReducedFloatingPoint T>                                     \
  SHUNT_ALWAYS_INLINE constexpr T operator op(T a, T b) {               \
    return T(static_cast<float>(a) op static_cast<float>(b));           \
  }                                                                     \
  template <ReducedFloatingPoint T, std::floating_point F>              \
  SHUNT_ALWAYS_INLINE constexpr F operator op(T a, F b) {               \
    return static_cast<F>(static_cast<float>(a)) op b;                  \
  }                                                                     \
  template <ReducedFloatingPoint T, std::floating_point F>              \
  SHUNT_ALWAYS_INLINE constexpr F operator op(F a, T b) {               \
    return a op static_cast<F>(static_cast<float>(b));                  \
  }                                                                     \
  template <ReducedFloatingPoint T, std::integral I>                    \
  SHUNT_ALWAYS_INLINE constexpr T operator op(T a, I b) {               \
    return a op T(static_cast<float>(b));                               \
  }                                                                     \
  template <ReducedFloatingPoint T, std::integral I>                    \
  SHUNT_ALWAYS_INLINE constexpr T operator op(I a, T b) {               \
    return T(static_cast<float>(a)) op b;                               \
  }                                                                     \
  template <ReducedFloatingPoint T, std::convertible_to<T> U>           \
  SHUNT_ALWAYS_INLINE constexpr T& operator op##=(T & a, const U & b) { \
    const T other = b;                                                  \
    return a = a op other;                                              \
  }

SHUNT_REDUCED_OPERATOR(+)
SHUNT_REDUCED_OPERATOR(-)
SHUNT_REDUCED_OPERATOR(*)
SHUNT_REDUCED_OPERATOR(/)
#undef SHUNT_REDUCED_OPERATOR

template <ReducedFloatingPoint T>
SHUNT_ALWAYS_INLINE constexpr T operator-(T a) {
  return T(static_cast<decltype(a.x)>(a.x ^ 0x8000u), T::from_bits());
}

template <ReducedFloatingPoint T>
std::ostream& operator<<(std::ostream& out, T value) {
  return out << static_cast<float>(value);
}

namespace detail {

/// Equal values have equal hashes, including +0 and -0.
template <ReducedFloatingPoint T>
struct ReducedHash {
  std::size_t operator()(T value) const noexcept { return std::hash<float>()(static_cast<float>(value)); }
};

/// The members of std::numeric_limits that both types share. The others depend on the exponent's width.
struct ReducedLimits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr bool traps = false, tinyness_before = false;
  static constexpr int radix = 2;
};

}  // namespace detail
}  // namespace shunt
