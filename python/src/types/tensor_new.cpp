// Tensor(...) and what makes objects of classes derived from it.
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

namespace shunt::python {

PyObject* makeTensorOfClass(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  // Rare, and a matter of many cases: in Python.
  static PyObject* const maker = [] {
    const Ref module = owned(PyImport_ImportModule("shunt._tensor"));
    return check(PyObject_GetAttrString(module.get(), "_new_tensor"));
  }();
  const Ref all = owned(PyTuple_New(PyTuple_GET_SIZE(arguments) + 1));
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
    PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
  return check(PyObject_Call(maker, all.get(), keywords));
}

}  // namespace shunt::python
