// TorchDispatchMode: modes whose handler is written in Python.
//
// Note [Modes of Python]
// A mode stands at the level kKernel (shunt/interpose/dispatch_mode.h), where PyTorch's stands: it sees the operators
// that run, below Autograd and Autocast. Each entry makes a C++ mode of its own for the object, so that a handler may
// enter its own mode again, as PyTorch allows. The thread's stack of them follows the C++ one: while a handler runs,
// its mode is off it.
#pragma once

#include "python/src/base/python.h"
#include "python/src/dispatch/operator.h"

#include <string>

namespace shunt::python {

/// Calls `whom`.__torch_dispatch__(operator, types, args, kwargs) for the arguments on top of the stack. NotImplemented
/// is an answer, too.
Ref askTorchDispatch(PyObject* whom, OpOverloadObject* op, PyObject* types, const IValue* arguments);
/// Puts what a handler returned in the place of the arguments. `who`: "Logging.__torch_dispatch__".
void replaceByReturned(const PreparedSchema& schema, PyObject* returned, Stack* stack, What who);

void addModes(PyObject* module);

}  // namespace shunt::python
