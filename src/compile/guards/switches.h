// The switch of compile(), from the environment. Any thread.
#pragma once

namespace shunt::compiled {

/// SHUNT_COMPILE, where no profile is made. Read once.
bool isSwitchedOn();

}  // namespace shunt::compiled
