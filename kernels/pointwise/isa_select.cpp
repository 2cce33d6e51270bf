#include "kernels/pointwise/isa_select.h"

#include <shunt/core/isa.h>

namespace shunt::elementwise {
namespace {

#define SHUNT_SHARD(n) level.pointwise[n] = kLevel::kLoops##n;
#define SHUNT_LOOPS_OF(isa)                  \
  +[] {                                      \
    namespace kLevel = isa;                  \
    IsaLoops level{};                        \
    SHUNT_FORALL_FUNCTOR_SHARDS(SHUNT_SHARD) \
    level.casts = kLevel::kCastLoops;        \
    return level;                            \
  }

// Kernels are reached through registrations of this library and run after it is initialised, or, from another of its
// static initialisers, select the loops themselves.
[[maybe_unused]] const bool selected = (detail::selectLoops(), true);

}  // namespace

IsaLoops loopsOf(int isa) {
  if (isa == -1) return activeLoops();
  static constexpr IsaLoops (*kMakers[kNumIsas])() = SHUNT_PER_ISA(SHUNT_LOOPS_OF);
  return kMakers[isa] == nullptr ? IsaLoops{} : kMakers[isa]();
}
#undef SHUNT_LOOPS_OF
#undef SHUNT_SHARD

namespace detail {

constinit IsaLoops active_loops{};

void selectLoops() { active_loops = loopsOf(static_cast<int>(shunt::detail::activeIsa())); }

}  // namespace detail
}  // namespace shunt::elementwise
