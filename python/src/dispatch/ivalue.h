// Values of boxed calls as objects of Python, and back: what operators give to handlers and kernels written in Python,
// and what those give in return.
//
// For threads that hold the interpreter's lock.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/function_ref.h>
#include <shunt/core/function_schema.h>
#include <shunt/core/ivalue.h>

#include <string>

namespace shunt::python {

/// A new reference. Enumerations are ints in an IValue, so the schema's type decides: a dtype, a layout, a memory
/// format. A tensor that stands for a number, as 1 does in `x + 1`, is the number; an undefined one is None. Lists are
/// lists of Python.
PyObject* toObject(const IValue& value, const Type& type);

/// What an object is to its operator, for messages: "sum(): argument 'dim'".
using What = FunctionRef<std::string()>;

/// The value of this type that the object is. Throws PythonError, a TypeError that begins with what(), where it is
/// none. None is an undefined tensor.
IValue toValue(PyObject* object, const Type& type, What what);

/// What a call that leaves out the argument, which has a default, passes.
IValue defaultOf(const Argument& argument);

/// Whether both are the same number, text or list of them; tensors are never the same. For arguments that are left out
/// when they have their default.
bool isSameValue(const IValue& a, const IValue& b);

}  // namespace shunt::python
