// The constants of the dictionary's functors. Any thread.
#pragma once

#include "kernels/pointwise/functors/all.h"
#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/op_info.h>

namespace shunt::elementwise {

SHUNT_ALWAYS_INLINE LoopFn OpInfo::loop(ScalarType common) const {
  const LoopFn* table = own_loops != nullptr ? own_loops : activeLoops().*family + row;
  return table[static_cast<int>(common)];
}

namespace detail {

template <class F, class... Fs>
constexpr int indexOf(TypeList<Fs...>) {
  int index = -1, i = 0;
  ((index = std::is_same_v<F, Fs> ? i : index, ++i), ...);
  return index;
}

template <class F>
constexpr bool isInFamily() {
#define SHUNT_FAMILY(name) || indexOf<F>(functors::name##Functors()) >= 0
  return false SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY);
#undef SHUNT_FAMILY
}

template <class F>
constexpr OpInfo describeBuiltin() {
  static_assert(isInFamily<F>(),
                "the functor is in no family's list (kernels/pointwise/functors), so it would have no loops");
  OpInfo info = describe<F>();
  info.is_copy = std::is_same_v<F, functors::Copy>;
#define SHUNT_FAMILY(name)                                                        \
  if (constexpr int index = indexOf<F>(functors::name##Functors()); index >= 0) { \
    info.family = &IsaLoops::name;                                                \
    info.row = index * kDtypeSlots;                                               \
    info.generic_family = &k##name##GenericLoops;                                 \
  }
  SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY
  return info;
}

}  // namespace detail

template <class F>
inline constexpr OpInfo kOpInfo = detail::describeBuiltin<F>();

}  // namespace shunt::elementwise
