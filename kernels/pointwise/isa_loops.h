// The loops of one shard of functors, ahead of time for one instruction set. Included only by
// generated/pointwise_loops_N.cpp, which are compiled once per instruction set with SHUNT_ISA_NAMESPACE. See Note
// [Loops per instruction set] in isa_select.h.
#pragma once

#include "kernels/pointwise/functors/all.h"
#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/typed_loop.h>

#include <array>

namespace shunt::elementwise {
namespace {

template <class... Fs>
constexpr auto makeTable() {
  std::array<LoopFn, sizeof...(Fs) * kDtypeSlots> table{};
  LoopFn* row = table.data();
  ((fillRow<Fs>(row), row += kDtypeSlots), ...);
  return table;
}

}  // namespace
}  // namespace shunt::elementwise

/// Defines the shard's table of these functors, found by its name in isa_select.cpp.
#define SHUNT_DEFINE_LOOPS(shard, ...)                         \
  namespace shunt::elementwise {                               \
  namespace {                                                  \
  constexpr auto kTable = makeTable<__VA_ARGS__>();            \
  }                                                            \
  namespace SHUNT_ISA_NAMESPACE {                              \
  extern const LoopFn* const kLoops##shard;                    \
  constinit const LoopFn* const kLoops##shard = kTable.data(); \
  }                                                            \
  }
