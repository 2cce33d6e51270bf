// __torch_function__: classes that handle whole calls of functions, in Python, before anything is dispatched.
#pragma once

#include "python/src/call/entry.h"

namespace shunt::python {

/// Function modes that are on, on all threads together: 0 is what calls look at first.
extern int torch_function_modes;

/// Offers the call to the handlers of its arguments. Null where there is none; throws what a handler raises.
PyObject* callTorchFunction(Entry& entry, const Call& call);

}  // namespace shunt::python
