// What the benchmark programs say about the compiler before it is asked first: no disk cache unless a program asks for
// one, so that no run depends on an earlier one, and no waiting for the budget, so that what is hot is compiled. What
// the environment says already holds. Call it first in main.
#pragma once

#include <cstdlib>

namespace bench {

inline void compileAtWill() {
  setenv("SHUNT_JIT_CACHE", "off", 0);
  setenv("SHUNT_JIT_BUDGET", "100", 0);
}

}  // namespace bench
