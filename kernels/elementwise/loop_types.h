// What ahead-of-time and generic loops look like from outside, and where to find an operator's. Constants only; any thread.
#pragma once

#include "kernels/elementwise/families.h"
#include "kernels/elementwise/loop1d.h"

namespace shunt::elementwise {

inline constexpr int kMaxInputs = 3;
inline constexpr int kMaxScalars = 2;
/// Tables are indexed by the ScalarType's number.
inline constexpr int kDtypeSlots = 16;

/// out[i] = f(in[0][i], ...) for i in [0, n): consecutive elements of the common dtype (bool for masks and for the output of
/// predicates); bit k of `repeated` says that input k is one element for every i. Returns false when an element was
/// invalid (integer division by zero); the other results are then unspecified.
using LoopFn = bool (*)(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n, const ScalarSlot* scalars);
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
using GenericLoopFn = bool (*)(const View& out, const View* in, int64_t n, const ScalarSlot* scalars, ScalarType common);

/// The loops of one instruction set. A family's table has kDtypeSlots entries for each of its functors, in the order of its
/// TypeList; null where the functor is not defined for the dtype.
struct IsaLoops {
#define SHUNT_FAMILY(name) const LoopFn* name;
  SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY
  const CastFn* casts;  // [from * kDtypeSlots + to]
};

/// The generic loops of a family: kDtypeSlots entries for each functor, by the common dtype.
#define SHUNT_FAMILY(name) extern SHUNT_API const GenericLoopFn* const k##name##GenericLoops;
SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY

namespace detail {
extern IsaLoops active_loops;  // use activeLoops()
SHUNT_COLD void selectLoops();
}  // namespace detail

/// The tables of the active instruction set (core/isa.h), chosen when the library is loaded.
SHUNT_ALWAYS_INLINE const IsaLoops& activeLoops() {
  if (detail::active_loops.casts == nullptr) [[unlikely]] detail::selectLoops();
  return detail::active_loops;
}

}  // namespace shunt::elementwise
