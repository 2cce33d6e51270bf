// x[...] and x[...] = y.
#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/indexing/parse_index.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>

namespace shunt::python {

namespace {

/// x[i], as a view.
Tensor selected(const Tensor& t, PyObject* key) {
  const int64_t i = positionOf(key);
  if (t.dim() == 0)
    raise(PyExc_IndexError,
          "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number");
  const int64_t size = t.sizes()[0];
  if (i < -size || i >= size)
    raise(PyExc_IndexError,
          "index " + std::to_string(i) + " is out of bounds for dimension 0 with size " + std::to_string(size));
  return t.select(0, i);
}

/// x[a:b], as a view.
Tensor sliced(const Tensor& t, PyObject* key) {
  const indexing::Slice s = sliceOf(key);
  if (t.dim() == 0) raise(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
  return t.slice(0, s.start(), s.stop(), s.step());
}

PyObject* getItem(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensorOf(self);
    if (PyLong_CheckExact(key)) return wrap(selected(t, key));
    if (PySlice_Check(key)) return wrap(sliced(t, key));
    if (key == Py_None) return wrap(t.unsqueeze(0));
    return wrap(indexing::get_item(t, indicesOf(key)));
  });
}

bool isNumber(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) ||
         (PyIndex_Check(o) != 0 && PySequence_Check(o) == 0);  // numpy.int64
}

Scalar numberOf(PyObject* o) {
  if (PyBool_Check(o)) return o == Py_True;
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyComplex_Check(o)) return toScalar(o);
  const Ref number = owned(PyNumber_Index(o));
  return positionOf(number.get());
}

void assignNumber(const Tensor& t, PyObject* key, const Scalar& value) {
  if (PyLong_CheckExact(key))
    selected(t, key).fill_(value);
  else if (PySlice_Check(key))
    sliced(t, key).fill_(value);
  else
    indexing::set_item(t, indicesOf(key), value);
}

int setItem(PyObject* self, PyObject* key, PyObject* value) {
  return guardedStatus([&] {
    if (value == nullptr) raise(PyExc_TypeError, "Tensor does not support deleting items");
    const Tensor& t = tensorOf(self);
    if (isTensor(value))
      indexing::set_item(t, indicesOf(key), tensorOf(value));
    else if (isNumber(value))
      assignNumber(t, key, numberOf(value));
    else
      raise(PyExc_TypeError,
            shunt::detail::str("can't assign a ", typeNameOf(value), " to a Tensor of ", t.scalar_type(),
                               ": expected a number or a Tensor; shunt.tensor(value) makes one"));
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
