// x[...] and x[...] = y: what Python writes as an index, as the indices of C++.
#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>

namespace shunt::python {

namespace {

using indexing::TensorIndex;

std::optional<int64_t> boundOf(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (!PyIndex_Check(o)) raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
  // Bounds beyond 64 bits mean the end, as for Python's lists.
  const Py_ssize_t value = PyNumber_AsSsize_t(o, nullptr);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

int64_t positionOf(PyObject* o) {
  const Py_ssize_t value = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

TensorIndex indexOf(PyObject* o) {
  if (PyLong_CheckExact(o)) return positionOf(o);
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(o)) return o == Py_True;
  if (isTensor(o)) return tensorOf(o);
  if (PySlice_Check(o)) {
    const auto* s = reinterpret_cast<PySliceObject*>(o);
    return indexing::Slice(boundOf(s->start), boundOf(s->stop), boundOf(s->step));
  }
  if (PyIndex_Check(o) && !PySequence_Check(o)) return positionOf(o);
  raise(PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got " +
            typeNameOf(o) + ")");
}

std::vector<TensorIndex> indicesOf(PyObject* key) {
  std::vector<TensorIndex> indices;
  if (!PyTuple_Check(key)) {
    indices.push_back(indexOf(key));
    return indices;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) indices.push_back(indexOf(PyTuple_GET_ITEM(key, i)));
  return indices;
}

PyObject* getItem(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensorOf(self);
    if (PyLong_CheckExact(key) && t.dim() > 0) return wrap(t.select(0, positionOf(key)));
    return wrap(indexing::get_item(t, indicesOf(key)));
  });
}

int setItem(PyObject* self, PyObject* key, PyObject* value) {
  return guardedStatus([&] {
    if (value == nullptr) raise(PyExc_TypeError, "Tensor does not support deleting items");
    const std::vector<TensorIndex> indices = indicesOf(key);
    if (isTensor(value))
      indexing::set_item(tensorOf(self), indices, tensorOf(value));
    else
      indexing::set_item(tensorOf(self), indices, toScalar(value));
    return 0;
  });
}

Py_ssize_t length(PyObject* self) {
  const Tensor& t = tensorOf(self);
  if (t.dim() > 0) return t.sizes()[0];
  PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return -1;
}

}  // namespace

PyMappingMethods tensor_mapping_methods = {.mp_length = length, .mp_subscript = getItem, .mp_ass_subscript = setItem};

}  // namespace shunt::python
