#include "values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace shunt_torch {
namespace {

// Types of PyTorch's and others that have no name in C's interface of Python.
struct Types {
  std::array<PyTypeObject*, 5> of_torch{};
  PyTypeObject* enumeration;

  Types() {
    constexpr std::array kNames = {"dtype", "device", "layout", "memory_format", "Size"};
    const py::module_ torch = py::module_::import("torch");
    for (size_t i = 0; i < kNames.size(); ++i) of_torch[i] = typeOf(torch, kNames[i]);
    enumeration = typeOf(py::module_::import("enum"), "Enum");
  }
  static PyTypeObject* typeOf(const py::module_& module, const char* name) {
    return reinterpret_cast<PyTypeObject*>(py::object(module.attr(name)).release().ptr());
  }
  static const Types& get() {
    static const Types types;
    return types;
  }
};

// Immutable, and two equal ones can't be told apart but by their identity.
bool isValueType(PyTypeObject* t) {
  if (t == &PyUnicode_Type || t == &PyLong_Type || t == &PyBool_Type || t == &PyFloat_Type || t == Py_TYPE(Py_None) ||
      t == &PyComplex_Type || t == &PyBytes_Type || t == &PyRange_Type || t == &PyEllipsis_Type ||
      t == Py_TYPE(Py_NotImplemented))
    return true;
  const auto& more = Types::get().of_torch;
  return std::find(more.begin(), more.end(), t) != more.end();
}

std::array<PyObject*, 3> elementsOf(PyObject* slice) {
  const auto* s = reinterpret_cast<PySliceObject*>(slice);
  return {s->start, s->stop, s->step};
}

// Equal ranges may differ in how they were written: range(0) and range(1, 1).
py::tuple boundsOf(PyObject* range) {
  const py::handle r(range);
  return py::make_tuple(r.attr("start"), r.attr("stop"), r.attr("step"));
}

bool isEqual(PyObject* a, PyObject* b) {
  const int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

size_t bitsOf(double x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace

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
  if (!PyType_IsSubtype(type, Types::get().enumeration)) return false;
  const auto name = py::str("_value_");
  const auto value = py::reinterpret_steal<py::object>(PyObject_GenericGetAttr(o, name.ptr()));
  if (!value) PyErr_Clear();
  return value && isValue(value.ptr());
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
  if (type == &PyRange_Type) return isEqual(boundsOf(a).ptr(), boundsOf(b).ptr());
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

PyObject* missed() {
  static PyObject* const sentinel = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return sentinel;
}

}  // namespace shunt_torch
