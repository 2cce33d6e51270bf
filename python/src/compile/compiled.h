// shunt._C._CompiledBase: a function of Python's that is compiled, called as it is. shunt.compiler.Compiled derives
// from it, and does what is rare.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addCompiled(PyObject* module);

/// Whether this thread records a compiled function.
bool isRecording();

}  // namespace shunt::python
