// The types of the loops as their callers see them, and the sizes of their tables. Constants only; any thread.
#pragma once

#include <shunt/elementwise/loop1d.h>

namespace shunt::elementwise {

/// The most inputs and scalars that a functor may have.
inline constexpr int kMaxInputs = 3;
inline constexpr int kMaxScalars = 3;
/// The entries of a functor in a table of loops, indexed by the ScalarType's number.
inline constexpr int kDtypeSlots = 16;

/// out[i] = f(in[0][i], ...) for i in [0, n). Elements are consecutive and have the common dtype (bool for masks and
/// for the output of predicates). Bit k of `repeated`: input k is one element for every i. Returns false if an element
/// was invalid (integer division by zero); the other results are then unspecified.
using LoopFn = bool (*)(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                        const ScalarSlot* scalars);
/// out[i] = cast(in[i]) between two dtypes.
using CastFn = void (*)(std::byte* out, const std::byte* in, int64_t n);

/// An operand of the generic loop; its stride is in bytes.
struct View {
  std::byte* p;
  int64_t stride;
  ScalarType dtype;
};
/// A LoopFn with run-time dtypes and strides. Elements of other dtypes are converted by way of the common dtype
/// `common`, as in the interpreter.
using GenericLoopFn = bool (*)(const View& out, const View* in, int64_t n, const ScalarSlot* scalars,
                               ScalarType common);

}  // namespace shunt::elementwise
