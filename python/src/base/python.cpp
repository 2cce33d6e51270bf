#include "python/src/base/python.h"

#include <unistd.h>

namespace shunt::python {

bool isInterpreterAlive() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

void waitForEnd() noexcept {
  for (;;) pause();
}

void takeLock(PyThreadState* state) noexcept {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    waitForEnd();
  }
}

PyGILState_STATE ensureLock() noexcept {
  try {
    return PyGILState_Ensure();
  } catch (...) {
    waitForEnd();
  }
}

PythonError::PythonError() { PyErr_Fetch(&type_, &value_, &traceback_); }

PythonError::PythonError(const PythonError& o) : type_(o.type_), value_(o.value_), traceback_(o.traceback_) {
  const Gil gil;
  Py_XINCREF(type_);
  Py_XINCREF(value_);
  Py_XINCREF(traceback_);
}

PythonError::~PythonError() {
  if (!isInterpreterAlive()) return;
  const Gil gil;
  drop(type_);
  drop(value_);
  drop(traceback_);
}

void PythonError::restore() const { PyErr_Restore(Py_XNewRef(type_), Py_XNewRef(value_), Py_XNewRef(traceback_)); }

PyObject* imported(PyObject*& cache, const char* module, const char* name) {
  if (cache == nullptr) {
    const Ref found = owned(PyImport_ImportModule(module));
    PyObject* const attribute = check(PyObject_GetAttrString(found.get(), name));
    if (cache == nullptr)
      cache = attribute;
    else
      Py_DECREF(attribute);  // another thread has been here meanwhile
  }
  return cache;
}

}  // namespace shunt::python
