// The one rule for casts between dtypes, and the type an operator computes in.
//
// cast<To>(from) gives the same bits in a vector loop of any width and in its scalar tail, for every input. Where C++
// leaves a conversion undefined, the value is defined here. Pure functions; any thread.
//
// Note [Casts between dtypes]
//   to bool            v != 0 (NaN gives true, -0.0 false).
//   integer -> integer modulo 2^bits.
//   integer -> Half, BFloat16, double -> Half, BFloat16   by way of float, as in PyTorch: two roundings.
//   floating -> integer   towards zero into a wide integer, then modulo 2^bits. The wide integer is int64_t for int64_t
//                      targets and for double -> uint8_t (as PyTorch converts it), else int32_t. What it cannot hold,
//                      NaN too, becomes its minimum: what the x86 conversion instruction gives. So float -> uint8_t of
//                      -1 is 255, of 300 is 44, of NaN and infinity 0; float -> int32_t of 3e9 is -2147483648. From
//                      float, int32_t does for uint8_t as well: where it overflows, the int64_t's low byte is 0 too.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/bfloat16.h>
#include <shunt/tensor/half.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace shunt {

namespace detail {

template <class T>
struct OpMath {
  using type = T;
};
template <ReducedFloatingPoint T>
struct OpMath<T> {
  using type = float;
};

/// Truncates towards zero; Wide's minimum where the result does not fit.
template <class Wide, class From>
SHUNT_ALWAYS_INLINE constexpr Wide truncateOrMin(From v) {
  constexpr From kUpper = static_cast<From>(uint64_t{1} << (std::numeric_limits<Wide>::digits - 1)) * From{2};
  constexpr From kLower = -kUpper;
  // -2^31 - 0.5 is a double and truncates into int32_t; the narrower formats have nothing between minimum and minimum
  // - 1.
  constexpr bool kHasFraction = std::numeric_limits<From>::digits > std::numeric_limits<Wide>::digits;
  const bool above = kHasFraction ? v > kLower - From{1} : v >= kLower;
  const bool fits = above & (v < kUpper);
  const Wide truncated = static_cast<Wide>(fits ? v : From{0});
  return fits ? truncated : std::numeric_limits<Wide>::min();
}

template <class To, class From>
using WideInteger =
    std::conditional_t<std::is_same_v<To, int64_t> || (std::is_same_v<To, uint8_t> && std::is_same_v<From, double>),
                       int64_t, int32_t>;

}  // namespace detail

/// The type in which T's arithmetic is done: float for Half and BFloat16, else T itself.
template <class T>
using opmath_t = typename detail::OpMath<T>::type;

/// `v` as a To, by Note [Casts between dtypes].
template <class To, class From>
SHUNT_ALWAYS_INLINE constexpr To cast(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (ReducedFloatingPoint<From>) {
    return cast<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From{0};
  } else if constexpr (ReducedFloatingPoint<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(detail::truncateOrMin<detail::WideInteger<To, From>>(v));
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace shunt
