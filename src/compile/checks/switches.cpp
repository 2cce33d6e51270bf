#include "src/compile/checks/switches.h"

#include <shunt/core/environment.h>

namespace shunt::compiled {

const Switches& switches() {
  static const Switches all{.on = detail::flagFromEnvironment("SHUNT_COMPILE", true),
                            .check = detail::flagFromEnvironment("SHUNT_COMPILE_CHECK", false)};
  return all;
}

}  // namespace shunt::compiled
