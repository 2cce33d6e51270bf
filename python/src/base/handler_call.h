// Calls of Python from threads that may be ended there: see the note on daemon threads in python.h.
#pragma once

#include "python/src/base/python.h"

#include <cxxabi.h>

namespace shunt::python {

/// What f(), a call of Python's interface, returns. For handlers, kernels and hooks, which hold the lock by a Gil: the
/// thread stays here when Python ends it, before anything is unwound that needs the lock.
template <class F>
PyObject* callHandler(F&& f) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    waitForEnd();
  }
}

}  // namespace shunt::python
