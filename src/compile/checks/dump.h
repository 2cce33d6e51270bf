// SHUNT_JIT_DUMP=<directory>: what a compiled function has recorded, as files beside those of its native loops
// (jit/emit/dump.h): "compiled-0-step.graph" and "compiled-0-step.plan". Any thread.
#pragma once

#include <string>

namespace shunt::compiled {

bool isDumpWanted();

/// The path of another variant's files without their suffixes, named after the function and numbered.
std::string pathOfDump(const std::string& name);

/// Writes a file anew. What goes wrong is said in the log.
void dumpTo(const std::string& file, const std::string& text);

}  // namespace shunt::compiled
