// Exceptions of C++ as Python's, at the boundary of each function that Python calls.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/error.h>

namespace shunt::python {

/// Sets Python's error for the C++ exception that is being handled. For catch (...) blocks.
SHUNT_COLD void setErrorFromCurrentException() noexcept;

// Note [Warnings that are errors]
// The library's log sink must not throw, so an error that a filter makes of a warning waits on its thread until the
// function of the binding that runs there returns; that function then fails with it. What the function changed stays
// changed. Threads that Python doesn't know, such as the JIT's, have no such function: Python reports the error as
// unraisable there.

/// The number of threads on which such an error waits.
extern std::atomic<int> waiting_warnings;
/// Keeps the error that is set as this thread's, unless one waits already.
SHUNT_COLD void keepWarning() noexcept;
/// Whether one waited on this thread; it is Python's error then.
SHUNT_COLD bool raiseWaitingWarning() noexcept;
/// Py_XDECREF() of a result that nobody gets; the error that is set stays.
SHUNT_COLD void dropKeepingError(PyObject* result) noexcept;
inline bool warningWaits() noexcept {
  return waiting_warnings.load(std::memory_order_relaxed) != 0 && raiseWaitingWarning();
}

/// Runs what a function of C's interface does: null, with Python's error set, where it throws.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    PyObject* const result = f();
    if (!warningWaits()) [[likely]]
      return result;
    dropKeepingError(result);
    return nullptr;
  } catch (...) {
    setErrorFromCurrentException();
    return nullptr;
  }
}

/// The same for slots that return a status: -1 where it throws.
template <class F>
int guardedStatus(F&& f) noexcept {
  try {
    const int status = f();
    return warningWaits() ? -1 : status;
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
