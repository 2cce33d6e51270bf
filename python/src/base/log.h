// Warnings: Shunt's as Python's, and those of the binding.
#pragma once

#include "python/src/base/python.h"

#include <string>

namespace shunt::python {

/// From now on warnings of the library are warnings.warn's (UserWarning) where the interpreter runs.
void sendLogToPython();

/// warnings.warn with the line of the program that called the package, however deep in it the call is. Throws
/// PythonError where a filter makes an error of it.
void warnCaller(PyObject* category, const std::string& message);

/// _warn(message, category=UserWarning): the same for the package's Python.
PyObject* warnFromPython(PyObject*, PyObject* arguments);

}  // namespace shunt::python
