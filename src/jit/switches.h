// The JIT's settings from the environment, read once.
#pragma once

#include <cstdint>

namespace shunt::jit {

struct Switches {
  bool enabled = true;
  bool sync = false;
  bool stats_at_exit = false;
  int64_t threshold = 512;
  /// Every how many interpreted calls of a thread one is observed.
  int64_t period = 16;
};
const Switches& switches();

}  // namespace shunt::jit
