// The switches of compile(), from the environment. Any thread.
#pragma once

namespace shunt::compiled {

struct Switches {
  bool on;     // SHUNT_COMPILE
  bool check;  // SHUNT_COMPILE_CHECK
};

/// Read once.
const Switches& switches();

}  // namespace shunt::compiled
