// What explanations and traces tell of the calling thread's dispatch modes.
#pragma once

#include <string>
#include <vector>

namespace shunt {

/// Names of the modes that a call on this thread would meet, innermost first.
std::vector<std::string> activeModeNames();

}  // namespace shunt
