#include "jit/host/debug_switches.h"

#include <shunt/core/environment.h>

namespace shunt::jit {

bool perfWanted() {
  static const bool wanted = shunt::detail::flagFromEnvironment("SHUNT_JIT_PERF", false);
  return wanted;
}

bool gdbWanted() {
  static const bool wanted = shunt::detail::flagFromEnvironment("SHUNT_JIT_GDB", false);
  return wanted;
}

}  // namespace shunt::jit
