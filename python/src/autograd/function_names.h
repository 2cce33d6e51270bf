// Names that calls of custom functions look up, as Python keeps them, and what Function itself has under them.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

struct FunctionNames {
  PyObject *backward_class, *forward_class, *forward, *backward, *vjp, *setup_context;
  // What the base class has, which says that a class hasn't its own. Null until setFunctionClass.
  PyObject *base_backward = nullptr, *base_vjp = nullptr, *base_setup_context = nullptr;
  // Python's part of binding keywords and defaults: bind(cls, positional arguments, keywords or None) -> tuple.
  PyObject* bind = nullptr;
};
FunctionNames& functionNames();

/// _set_function_class(Function, bind): METH_VARARGS.
PyObject* setFunctionClass(PyObject*, PyObject* arguments);
/// Function.apply: a class method.
PyObject* applyFunction(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* names);

}  // namespace shunt::python
