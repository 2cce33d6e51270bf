#include "python/common/state/values.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace shunt::python {

namespace {

std::vector<PyTypeObject*> value_types;

PyTypeObject* enum_type = nullptr;

// Immutable, and two equal ones can't be told apart but by their identity.
bool isValueType(PyTypeObject* t) {
  if (t == &PyUnicode_Type || t == &PyLong_Type || t == &PyBool_Type || t == &PyFloat_Type || t == Py_TYPE(Py_None) ||
      t == &PyComplex_Type || t == &PyBytes_Type || t == &PyRange_Type || t == &PyEllipsis_Type ||
      t == Py_TYPE(Py_NotImplemented))
    return true;
  return std::find(value_types.begin(), value_types.end(), t) != value_types.end();
}

std::array<PyObject*, 3> elementsOf(PyObject* slice) {
  const auto* s = reinterpret_cast<PySliceObject*>(slice);
  return {s->start, s->stop, s->step};
}

bool isEqual(PyObject* a, PyObject* b) {
  const int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

// Equal ranges may differ in how they were written: range(0) and range(1, 1).
bool haveSameBounds(PyObject* a, PyObject* b) {
  for (const char* name : {"start", "stop", "step"}) {
    const Ref x = Ref::steal(PyObject_GetAttrString(a, name)), y = Ref::steal(PyObject_GetAttrString(b, name));
    if (!x || !y || !isEqual(x.get(), y.get())) return false;
  }
  return true;
}

uint64_t bitsOf(double x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace

void setValueTypes(std::vector<PyTypeObject*> types, PyTypeObject* enumeration) {
  value_types = std::move(types);
  enum_type = enumeration;
}

bool isValue(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  if (isValueType(type)) return true;
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!isValue(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    const auto elements = elementsOf(o);
    return std::all_of(elements.begin(), elements.end(), isValue);
  }
  if (enum_type == nullptr || !PyType_IsSubtype(type, enum_type)) return false;
  static PyObject* const name = PyUnicode_InternFromString("_value_");
  const Ref value = Ref::steal(PyObject_GenericGetAttr(o, name));
  if (!value) PyErr_Clear();
  return value && isValue(value.get());
}

bool isSameValue(PyObject* a, PyObject* b) {
  if (a == b) return true;
  PyTypeObject* const type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyUnicode_Type || type == &PyLong_Type) return isEqual(a, b);
  if (type == &PyFloat_Type) return bitsOf(PyFloat_AS_DOUBLE(a)) == bitsOf(PyFloat_AS_DOUBLE(b));
  if (type == &PyComplex_Type) {
    const Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return bitsOf(x.real) == bitsOf(y.real) && bitsOf(x.imag) == bitsOf(y.imag);
  }
  if (type == &PyTuple_Type) {
    const Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (n != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!isSameValue(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    const auto x = elementsOf(a), y = elementsOf(b);
    return std::equal(x.begin(), x.end(), y.begin(), isSameValue);
  }
  if (type == &PyRange_Type) return haveSameBounds(a, b);
  return isValueType(type) && isEqual(a, b);
}

bool hasPlainHash(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!hasPlainHash(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  return isValueType(type) || type->tp_hash == PyBaseObject_Type.tp_hash;
}

bool hasAttributes(PyObject* o) {
  PyObject** const dict = _PyObject_GetDictPtr(o);
  return dict != nullptr && *dict != nullptr && PyDict_GET_SIZE(*dict) != 0;
}

}  // namespace shunt::python
