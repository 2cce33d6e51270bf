// The ahead-of-time loops of one family of functors for one instruction set. Included only by loops_<family>.cpp, which
// is compiled once per instruction set with SHUNT_ISA_NAMESPACE. See Note [Loops per instruction set] in isa_select.h.
#pragma once

#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/typed_loop.h>

#include <array>

namespace shunt::elementwise {
namespace {

template <class... Fs>
constexpr auto makeTable(TypeList<Fs...>) {
  std::array<LoopFn, sizeof...(Fs) * kDtypeSlots> table{};
  LoopFn* row = table.data();
  ((fillRow<Fs>(row), row += kDtypeSlots), ...);
  return table;
}

}  // namespace
}  // namespace shunt::elementwise

/// Defines the family's table, found by its name in isa_select.cpp.
#define SHUNT_DEFINE_LOOPS(family)                                 \
  namespace shunt::elementwise {                                   \
  namespace {                                                      \
  constexpr auto kTable = makeTable(functors::family##Functors()); \
  }                                                                \
  namespace SHUNT_ISA_NAMESPACE {                                  \
  extern const LoopFn* const k##family##Loops;                     \
  constinit const LoopFn* const k##family##Loops = kTable.data();  \
  }                                                                \
  }
