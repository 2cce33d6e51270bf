// Whether perf and gdb are to be told of thunks. Read once; any thread.
#pragma once

namespace shunt::jit {

bool perfWanted();  // SHUNT_JIT_PERF
bool gdbWanted();   // SHUNT_JIT_GDB

}  // namespace shunt::jit
