#include "jit/host/debug_switches.h"

#include <shunt/core/environment.h>

namespace shunt::jit {

namespace environment = shunt::detail::environment;

bool perfWanted() {
  static const bool wanted = environment::flag<environment::Variable::kJitPerf>();
  return wanted;
}

bool gdbWanted() {
  static const bool wanted = environment::flag<environment::Variable::kJitGdb>();
  return wanted;
}

}  // namespace shunt::jit
