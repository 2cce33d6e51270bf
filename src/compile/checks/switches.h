// The switch of compile(), from the environment. Any thread.
#pragma once

namespace shunt::compiled {

/// SHUNT_COMPILE. Read once.
bool isSwitchedOn();

}  // namespace shunt::compiled
