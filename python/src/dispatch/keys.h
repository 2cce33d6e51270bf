// Dispatch keys and sets of them, for Python: shunt._C.DispatchKeySet, and functions that show an operator's table and
// the thread's keys.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/dispatch_key_set.h>

namespace shunt::python {

/// Adds the type DispatchKeySet and the functions.
void addKeys(PyObject* module);

/// The key of a name ("CPU", "Autograd") or of a shunt._C.DispatchKey. Throws, with names that are near, where there is
/// none.
DispatchKey keyFrom(PyObject* name_or_key);
/// Of a DispatchKeySet or a single key.
DispatchKeySet keySetFrom(PyObject* object);
PyObject* wrapKeySet(DispatchKeySet keys);

}  // namespace shunt::python
