// Tensor(...) and what makes objects of classes derived from it.
#include "python/src/base/errors.h"
#include "python/src/dispatch/subclasses.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>

namespace shunt::python {

PyObject* makeTensorOfClass(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  // Rare, and a matter of many cases: in Python.
  static PyObject* cache = nullptr;
  PyObject* const maker = imported(cache, "shunt._legacy", "new_tensor_of_class");
  const Ref all = owned(PyTuple_New(PyTuple_GET_SIZE(arguments) + 1));
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
    PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
  return check(PyObject_Call(maker, all.get(), keywords));
}

namespace {

/// _alias_of_class(tensor, cls): a new object of the class for the same elements, in the same graph.
PyObject* aliasOfClassFromPython(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2 || !isTensor(args[0]) || !PyType_Check(args[1]) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(args[1]), &TensorBaseType))
      raise(PyExc_TypeError, "_alias_of_class(tensor, cls): expected a Tensor and a class derived from Tensor");
    return aliasOfClass(reinterpret_cast<PyTypeObject*>(args[1]), tensorOf(args[0]));
  });
}

}  // namespace

PyMethodDef tensor_class_functions[] = {
    {"_alias_of_class", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(aliasOfClassFromPython)), METH_FASTCALL,
     nullptr},
    {},
};

}  // namespace shunt::python
