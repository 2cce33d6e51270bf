#include "kernels/elementwise/isa_select.h"

#include <shunt/core/isa.h>

namespace shunt::elementwise {
namespace {

#define SHUNT_FAMILY(name) level.name = kLevel::k##name##Loops;
#define SHUNT_LOOPS_OF(isa)                       \
  [] {                                            \
    namespace kLevel = isa;                       \
    IsaLoops level{};                             \
    SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)   \
    level.casts = kLevel::kCastLoops;             \
    return level;                                 \
  }()

IsaLoops chosen() { return loopsOf(static_cast<int>(shunt::detail::activeIsa())); }

// Filled before any kernel can run: kernels are reached through registrations of this library, which come later or not at
// all. A kernel called from another static initialiser of this library fills it itself.
constinit IsaLoops active{};
[[maybe_unused]] const bool filled = (active = chosen(), true);

}  // namespace

IsaLoops loopsOf(int isa) {
  switch (isa) {
    case 0: return SHUNT_LOOPS_OF(baseline);
    case 1: return SHUNT_LOOPS_OF(v3);
    default: return SHUNT_LOOPS_OF(v4);
  }
}
#undef SHUNT_LOOPS_OF
#undef SHUNT_FAMILY

const IsaLoops& activeLoops() {
  if (active.casts == nullptr) [[unlikely]] active = chosen();
  return active;
}

}  // namespace shunt::elementwise
