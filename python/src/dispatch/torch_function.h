// __torch_function__: classes and modes that handle whole calls of functions, in Python, before anything is dispatched.
//
// Note [Who is asked]
// A call is looked at here where an argument is of a class that may have a __torch_function__ (all but Tensor and
// Parameter themselves), where the arguments fit no overload (an object of another library may stand for anything), or
// where a TorchFunctionMode is on. First the thread's modes are asked, the innermost first; then the arguments that
// have a handler, in their order, but those of a derived class before those of its base. The first answer other than
// NotImplemented is the call's. A handler of a mode runs with that mode off.
#pragma once

#include "python/src/call/entry.h"

namespace shunt::python {

/// Function modes that are on, on all threads together: 0 is what calls look at first.
extern int torch_function_modes;

/// Why calls on this thread aren't handled as usual: a TorchFunctionMode is on, or handlers are off; null where neither
/// is so.
const char* whyUnusualTorchFunction();

/// Offers the call to the handlers of its arguments. Null where there is none; throws what a handler raises.
PyObject* callTorchFunction(Entry& entry, const Call& call);
/// The same for a call of any function; `self`, where the call has one, is the first of its arguments.
PyObject* callTorchFunctionOf(PyObject* function, const Call& call);

/// Methods, properties and slots of a type that is not ready yet, but for those that `handled` lists, are offered to
/// handlers before they run.
void offerToTorchFunction(PyTypeObject& type, const PyMethodDef* handled);

/// Adds what Python's side of it is made of.
void addTorchFunction(PyObject* module);

}  // namespace shunt::python
