// Exceptions of C++ as Python's, at the boundary of each function that Python calls.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/error.h>

namespace shunt::python {

/// Sets Python's error for the C++ exception that is being handled. For catch (...) blocks.
SHUNT_COLD void setErrorFromCurrentException() noexcept;

/// Runs what a function of C's interface does: null, with Python's error set, where it throws.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    setErrorFromCurrentException();
    return nullptr;
  }
}

/// The same for slots that return a status: -1 where it throws.
template <class F>
int guardedStatus(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    setErrorFromCurrentException();
    return -1;
  }
}

/// Throws the Python exception of this type and message.
[[noreturn]] SHUNT_COLD void raise(PyObject* type, const std::string& message);

/// A Python string as UTF-8. Throws PythonError for surrogates.
std::string utf8(PyObject* text);
/// repr(object), or its type's name where that fails.
std::string reprOf(PyObject* object);
/// The name as messages show it: "int", "Tensor", "numpy.ndarray".
std::string typeNameOf(PyObject* object);

}  // namespace shunt::python
