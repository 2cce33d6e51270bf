#include "python/src/base/python.h"

#include <unistd.h>

#include <thread>

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

std::atomic<bool> interpreter_ends{false};

namespace {

std::thread::id ending_thread;

PyObject* noteEnd(PyObject*, PyObject*) {
  ending_thread = std::this_thread::get_id();
  interpreter_ends.store(true);
  Py_RETURN_NONE;
}
PyMethodDef note_end = {"_note_end", noteEnd, METH_NOARGS, nullptr};

}  // namespace

void watchEnd() {
  const Ref atexit = owned(PyImport_ImportModule("atexit"));
  const Ref callback = owned(PyCFunction_New(&note_end, nullptr));
  owned(PyObject_CallMethod(atexit.get(), "register", "O", callback.get()));
}

void stayWithoutLock() noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);  // the caller has read interpreter_ends relaxed
  if (std::this_thread::get_id() == ending_thread) return;
#if PY_VERSION_HEX >= 0x030d0000
  const bool somebody_has_it = PyThreadState_GetUnchecked() != nullptr;
#else
  const bool somebody_has_it = _PyThreadState_UncheckedGet() != nullptr;
#endif
  // The interpreter that is gone says that everybody has it.
  if (!somebody_has_it || PyGILState_Check() == 0) waitForEnd();
}

void takeLock(PyThreadState* state) noexcept {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    waitForEnd();
  }
}

PyGILState_STATE ensureLock() noexcept {
  // Of an interpreter that is gone one can't even ask for the lock: it would look into what is freed.
  if (interpreter_ends.load(std::memory_order_acquire) && std::this_thread::get_id() != ending_thread &&
      !isInterpreterAlive())
    waitForEnd();
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
