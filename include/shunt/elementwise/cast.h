// cast<To>(from), the only rule for casts between dtypes; and opmath_t, the type that an operator computes in.
//
// cast gives the same bits for every input, in a vector loop of any width and in its scalar tail. Where C++ leaves a
// conversion undefined, the result is defined here. Pure functions; any thread.
//
// Note [Casts between dtypes]
// - to bool: v != 0. NaN gives true, -0.0 gives false.
// - integer -> integer: modulo 2^bits.
// - integer or double -> Half or BFloat16: by way of float, as in PyTorch, so the value is rounded twice.
// - floating -> integer: truncates towards zero into a wide integer, then takes that modulo 2^bits.
//   - The wide integer is int64_t for int64_t targets and for double -> uint8_t (as in PyTorch), else int32_t.
//   - NaN and values that the wide integer can't hold become its minimum, as with the x86 conversion instruction.
//   - float -> uint8_t: -1 gives 255, 300 gives 44, NaN and infinity give 0. float -> int32_t: 3e9 gives -2147483648.
//   - int32_t is enough for float -> uint8_t: where it overflows, the low byte of an int64_t would be 0 too.
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

/// Truncates towards zero; gives Wide's minimum if the result doesn't fit.
template <class Wide, class From>
SHUNT_ALWAYS_INLINE constexpr Wide truncateOrMin(From v) {
  constexpr From kUpper = static_cast<From>(uint64_t{1} << (std::numeric_limits<Wide>::digits - 1)) * From{2};
  constexpr From kLower = -kUpper;
  // The double -2^31 - 0.5 truncates into int32_t. Narrower formats have no value between minimum - 1 and minimum.
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

/// The type that arithmetic on T is done in: float for Half and BFloat16, else T.
template <class T>
using opmath_t = typename detail::OpMath<T>::type;

/// Converts `v` to To as in Note [Casts between dtypes].
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
