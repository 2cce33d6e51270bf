// Operators and kernels of programs written in Python: what shunt.library is made of.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/library.h>

#include <source_location>

namespace shunt::python {

void addLibrary(PyObject* module);
/// Rules of vmap, which are registrations of libraries, too.
void addBatchingRules(PyObject* module);

/// The library in a capsule of Python's. Throws PythonError for another object.
Library& libraryOf(PyObject* capsule);
/// The same for equal places, which are kept as long as the process: registrations that have gone are still named.
std::source_location placeOf(const char* file, unsigned line);

}  // namespace shunt::python
