// What the generic loops along rows share: a row as accumulators, and accumulators as a row, in memory of any dtype.
// Included by sources compiled to bitcode; everything has internal linkage. Pure functions on the caller's memory.
#pragma once

#include "kernels/rows/convert.h"

namespace shunt::reduce {
namespace {

template <class A, class... Ts>
SHUNT_ALWAYS_INLINE void loadAny(A* dst, const std::byte* src, ScalarType dtype, int64_t n, Types<Ts...>) {
  ((dtype == scalar_type_of<Ts> ? load<A, Ts>(dst, src, 1, n) : void()), ...);
}
template <class A, class... Ts>
SHUNT_ALWAYS_INLINE void storeAny(std::byte* dst, const A* src, ScalarType dtype, int64_t n, Types<Ts...>) {
  ((dtype == scalar_type_of<Ts> ? store<A, Ts>(dst, src, 1, n) : void()), ...);
}

/// n consecutive elements. As calls: they are inlined when the dtype is known, and then all but one of their loops are
/// gone.
template <class A>
void loadRow(A* dst, const std::byte* src, ScalarType dtype, int64_t n) {
  loadAny<A>(dst, src, dtype, n, typename Elements<A>::From{});
}
template <class A>
void storeRow(std::byte* dst, const A* src, ScalarType dtype, int64_t n) {
  storeAny<A>(dst, src, dtype, n, typename Elements<A>::To{});
}

}  // namespace
}  // namespace shunt::reduce
