// The descriptors of the dictionary's functors. Any thread.
#pragma once

#include "kernels/pointwise/functors/all.h"
#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/kernel_descriptor.h>

namespace shunt::elementwise {

SHUNT_ALWAYS_INLINE LoopFn KernelDescriptor::loop(ScalarType common) const {
  const LoopFn* table = own_loops != nullptr ? own_loops : activeLoops().pointwise[shard] + row;
  return table[static_cast<int>(common)];
}

namespace detail {

/// Where a functor's loops stand: Note [Shards of functors].
struct LoopPlace {
  int shard, index;
};
template <class F>
inline constexpr LoopPlace kLoopPlace{-1, -1};
#define SHUNT_FUNCTOR(name, shard, index) \
  template <>                             \
  inline constexpr LoopPlace kLoopPlace<functors::name>{shard, index};
SHUNT_FORALL_FUNCTORS(SHUNT_FUNCTOR)
#undef SHUNT_FUNCTOR

#define SHUNT_SHARD(n) &kGenericLoops##n,
inline constexpr const GenericLoopFn* const* kGenericShards[] = {SHUNT_FORALL_FUNCTOR_SHARDS(SHUNT_SHARD)};
#undef SHUNT_SHARD

template <class F>
constexpr KernelDescriptor describeBuiltin() {
  constexpr LoopPlace place = kLoopPlace<F>;
  static_assert(
      place.shard >= 0,
      "no entry of the dictionary names the functor (`elementwise` or `functors` in kernels/operators), so it "
      "would have no loops");
  KernelDescriptor kernel = describe<F>();
  kernel.is_copy = std::is_same_v<F, functors::Copy>;
  kernel.shard = place.shard;
  kernel.row = place.index * kDtypeSlots;
  kernel.generic_shard = kGenericShards[place.shard];
  return kernel;
}

}  // namespace detail

template <class F>
inline constexpr KernelDescriptor kDescriptor = detail::describeBuiltin<F>();

}  // namespace shunt::elementwise
