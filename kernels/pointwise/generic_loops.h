// The generic loops of one shard of functors. Included only by generated/pointwise_generic_N.cpp.
#pragma once

#include "kernels/pointwise/functors/all.h"
#include "kernels/pointwise/loop_types.h"

#include <shunt/elementwise/generic_loop.h>

/// Defines the shard's table of these functors.
#define SHUNT_DEFINE_GENERIC_LOOPS(shard, ...)                               \
  namespace shunt::elementwise {                                             \
  namespace {                                                                \
  constexpr auto kTable = makeGenericTable<__VA_ARGS__>();                   \
  }                                                                          \
  constinit const GenericLoopFn* const kGenericLoops##shard = kTable.data(); \
  }
