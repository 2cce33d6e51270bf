// What loops look like from outside. Constants only; any thread.
#pragma once

#include <shunt/elementwise/loop1d.h>

namespace shunt::elementwise {

inline constexpr int kMaxInputs = 3;
inline constexpr int kMaxScalars = 3;
/// Tables are indexed by the ScalarType's number.
inline constexpr int kDtypeSlots = 16;

/// out[i] = f(in[0][i], ...) for i in [0, n): consecutive elements of the common dtype (bool for masks and for the
/// output of predicates); bit k of `repeated` says that input k is one element for every i. Returns false when an
/// element was invalid (integer division by zero); the other results are then unspecified.
using LoopFn = bool (*)(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                        const ScalarSlot* scalars);
/// out[i] = cast(in[i]) between two dtypes.
using CastFn = void (*)(std::byte* out, const std::byte* in, int64_t n);

/// An operand of the generic loop; stride in bytes.
struct View {
  std::byte* p;
  int64_t stride;
  ScalarType dtype;
};
/// The same with run-time dtypes and strides. `common` is the common dtype: other dtypes pass through it, as in the
/// interpreter.
using GenericLoopFn = bool (*)(const View& out, const View* in, int64_t n, const ScalarSlot* scalars,
                               ScalarType common);

}  // namespace shunt::elementwise
