// Tensors of classes with a __torch_dispatch__.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/op_state.h>

namespace shunt::python {

/// The classes with a handler of the tensors among the arguments, a tuple; nothing where there is none.
Ref subclassTypes(const IValue* arguments, size_t n);
/// Asks the classes of the arguments on top of the stack. False where there is none.
bool handleBySubclasses(const OperatorHandle& op, Stack* stack);

void addSubclasses(PyObject* module);

}  // namespace shunt::python
