// Loops between element types and accumulator types.
#include "kernels/reduce/loop_table.h"

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
  if constexpr (std::is_same_v<A, uint8_t>) return cast<bool>(v) ? 1 : 0;
  else return cast<A>(v);
}

template <class A, class T>
void load(A* __restrict dst, const std::byte* __restrict src, int64_t stride, int64_t n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) dst[i] = accumulatorOf<A>(loadElement<T>(src + i * kSize));
  else
    for (int64_t i = 0; i < n; ++i) dst[i] = accumulatorOf<A>(loadElement<T>(src + i * stride * kSize));
}

template <class A, class T>
void store(std::byte* __restrict dst, const A* __restrict src, int64_t stride, int64_t n) {
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

template <class... Ts>
struct Types {};

template <class A, class... From, class... To>
constexpr ConvertLoops<A> makeLoops(Types<From...>, Types<To...>) {
  ConvertLoops<A> loops = {};
  ((loops.load[static_cast<int>(scalar_type_of<From>)] = load<A, From>), ...);
  ((loops.store[static_cast<int>(scalar_type_of<To>)] = store<A, To>), ...);
  return loops;
}

using Integers = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using IntegersAndBool = Types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool>;
using All = Types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool, Half, BFloat16, float, double>;

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ConvertLoops> kConvertLoops = {
    makeLoops<float>(All{}, Types<float, Half, BFloat16>{}), makeLoops<double>(All{}, Types<double>{}),
    makeLoops<int64_t>(IntegersAndBool{}, Integers{}), makeLoops<uint8_t>(All{}, Types<bool, uint8_t>{})};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
