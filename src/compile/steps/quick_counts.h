// What the calling thread's runs have done on the quick ways of steps (Step::quick): for tests, since results are the
// same on the others.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::compiled {

struct QuickCounts {
  uint64_t products = 0;
  uint64_t reductions = 0;
  uint64_t fills = 0;   // tensors of ones or zeros
  uint64_t rows = 0;    // operators along rows
  uint64_t losses = 0;  // or their gradients
  uint64_t views = 0;   // made by their steps, or not at all
  uint64_t grads = 0;   // read
  uint64_t sums = 0;    // backward passes that add what comes to one tensor (Note [Sums in the pass], backward/sums.h)
  uint64_t host_steps = 0;
  uint64_t buffered = 0;  // runs with results in buffers from beginning to end (Note [Buffers], program/buffers.h)
};

extern constinit thread_local QuickCounts quick_counts SHUNT_TLS_MODEL;
/// The thread's.
SHUNT_API const QuickCounts& quickCounts();

}  // namespace shunt::compiled
