// SHUNT_JIT_PERF=1: /tmp/perf-<process>.map, from which perf takes the names of code that lies in no file.
//
// A line is never taken back; where memory is used again, perf takes the newest. Trouble with the file is logged once
// and ends it. Any thread.
#pragma once

#include "jit/link/linker.h"

namespace shunt::jit {

/// Adds the code's functions, called `name` each, if the switch is on.
void addToPerfMap(const LinkedCode& code, llvm::StringRef name);

}  // namespace shunt::jit
