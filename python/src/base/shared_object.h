// A Python object that C++ shares and lets go of on any thread: hooks, what hooks packed, notes of where a program was.
#pragma once

#include "python/src/base/python.h"

#include <memory>

namespace shunt::python {

using SharedObject = std::shared_ptr<PyObject>;

/// Takes a reference. The last copy gives it back, under the lock; after the interpreter's end nobody does.
inline SharedObject share(PyObject* object) {
  return SharedObject(Py_NewRef(object), [](PyObject* o) {
    if (!isInterpreterAlive()) return;
    const Gil gil;
    drop(o);
  });
}

}  // namespace shunt::python
