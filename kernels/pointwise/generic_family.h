// Included only by generic_<family>.cpp: the table of the generic loops of one family of functors.
#pragma once

#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/generic_loop.h>

/// Defines the family's table: kDtypeSlots entries for each functor, by the common dtype.
#define SHUNT_DEFINE_GENERIC_LOOPS(family)                                      \
  namespace shunt::elementwise {                                                \
  namespace {                                                                   \
  constexpr auto kTable = makeGenericTable(functors::family##Functors());       \
  }                                                                             \
  constinit const GenericLoopFn* const k##family##GenericLoops = kTable.data(); \
  }
