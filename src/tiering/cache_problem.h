// Why the directory that SHUNT_JIT_CACHE names is not used. Any thread.
#pragma once

#include <string>

namespace shunt::jit {

/// "SHUNT_JIT_CACHE=/proc/x: No such file or directory"; empty if the directory could be made when the library was
/// loaded.
std::string cacheProblem();

}  // namespace shunt::jit
