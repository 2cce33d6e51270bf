// Loops between element types and accumulator types, for one instruction set or for the compiler. Everything has
// internal linkage. Pure functions on the caller's memory.
#pragma once

#include "kernels/rows/loop_table.h"

#include <shunt/elementwise/cast.h>

namespace shunt::reduce {
namespace {

template <class T>
SHUNT_ALWAYS_INLINE T loadElement(const std::byte* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(p) != 0;
  } else {
    T v;
    __builtin_memcpy(&v, p, sizeof(T));
    return v;
  }
}

template <class A, class T>
SHUNT_ALWAYS_INLINE A accumulatorOf(T v) {
  if constexpr (std::is_same_v<A, uint8_t>)
    return cast<bool>(v) ? 1 : 0;
  else
    return cast<A>(v);
}

template <class A, class T>
SHUNT_ALWAYS_INLINE void load(A* __restrict dst, const std::byte* __restrict src, int64_t stride, int64_t n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) dst[i] = accumulatorOf<A>(loadElement<T>(src + i * kSize));
  else
    for (int64_t i = 0; i < n; ++i) dst[i] = accumulatorOf<A>(loadElement<T>(src + i * stride * kSize));
}

template <class A, class T>
SHUNT_ALWAYS_INLINE void store(std::byte* __restrict dst, const A* __restrict src, int64_t stride, int64_t n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const auto put = [dst](int64_t at, A v) __attribute__((always_inline)) {
    const T element = cast<T>(v);
    __builtin_memcpy(dst + at * kSize, &element, sizeof(T));
  };
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) put(i, src[i]);
  else
    for (int64_t i = 0; i < n; ++i) put(i * stride, src[i]);
}

// The element types that each accumulator is loaded from and stored to.
template <class... Ts>
struct Types {};
using Integers = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using IntegersAndBool = Types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool>;
using All = Types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool, Half, BFloat16, float, double>;

template <class A>
struct Elements;
template <>
struct Elements<float> {
  using From = All;
  using To = Types<float, Half, BFloat16>;
};
template <>
struct Elements<double> {
  using From = All;
  using To = Types<double, float, Half, BFloat16>;
};
template <>
struct Elements<int64_t> {
  using From = IntegersAndBool;
  using To = Integers;
};
template <>
struct Elements<uint8_t> {
  using From = All;
  using To = Types<bool, uint8_t>;
};

}  // namespace
}  // namespace shunt::reduce
