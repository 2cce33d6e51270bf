#include "python/src/indexing/parse_index.h"

#include "python/src/base/errors.h"
#include "python/src/base/log.h"
#include "python/src/indexing/index_data.h"
#include "python/src/types/tensor.h"

namespace shunt::python {

namespace {

using indexing::TensorIndex;

// From this length on a list is never taken for a tuple: NumPy's greatest number of dimensions.
constexpr Py_ssize_t kMaxTuple = 32;

/// Whether a list, or another sequence that is no tuple, means several indices.
bool countsAsTuple(PyObject* key) {
  if (isTensor(key) || PySequence_Check(key) == 0) return false;
  const bool may_be_array = !PyList_CheckExact(key) && PyObject_CheckBuffer(key) != 0;
  if (may_be_array && PyObject_HasAttrString(key, "__array__") != 0) return false;
  const Py_ssize_t n = PySequence_Size(key);
  if (n < 0) {
    PyErr_Clear();
    return false;
  }
  if (n >= kMaxTuple) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Ref o = Ref::steal(PySequence_GetItem(key, i));
    if (!o) {
      PyErr_Clear();
      return false;
    }
    if (PyLong_CheckExact(o.get())) continue;
    if (isTensor(o.get()) || PySequence_Check(o.get()) != 0 || PySlice_Check(o.get()) || o.get() == Py_None ||
        o.get() == Py_Ellipsis)
      return true;
  }
  return false;
}

TensorIndex indexOf(PyObject* o) {
  if (PyLong_CheckExact(o)) return positionOf(o);
  if (PySlice_Check(o)) return sliceOf(o);
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(o)) return o == Py_True;
  if (isTensor(o)) return tensorOf(o);
  if (PySequence_Check(o) != 0) return indexFromSequence(o);
  const Ref number = Ref::steal(PyNumber_Index(o));
  if (number) return positionOf(number.get());
  PyErr_Clear();
  raise(PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got " +
            typeNameOf(o) + ")");
}

}  // namespace

int64_t positionOf(PyObject* o) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow != 0)
    raise(PyExc_ValueError, "Overflow when unpacking long long: the index " + reprOf(o) + " has more than 64 bits");
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

indexing::Slice sliceOf(PyObject* slice) {
  Py_ssize_t start = 0, stop = 0, step = 1;
  checkStatus(PySlice_Unpack(slice, &start, &stop, &step));  // bounds beyond 64 bits mean the ends
  if (step <= 0) raise(PyExc_ValueError, "step must be greater than zero, got " + std::to_string(step));
  return indexing::Slice(start, stop, step);
}

std::vector<TensorIndex> indicesOf(PyObject* key) {
  std::vector<TensorIndex> indices;
  Ref as_tuple;
  if (!PyTuple_Check(key)) {
    if (!countsAsTuple(key)) {
      indices.push_back(indexOf(key));
      return indices;
    }
    if (!PyUnicode_Check(key) && !PyBytes_Check(key))  // which is refused below
      warnCaller(
          PyExc_UserWarning,
          "Using a non-tuple sequence for multidimensional indexing is deprecated: x[[a, b]] means x[a, b] here, "
          "as in PyTorch. Write x[tuple(seq)] for that, or x[shunt.tensor(seq)]");
    as_tuple = owned(PySequence_Tuple(key));
    key = as_tuple.get();
  }
  indices.reserve(static_cast<size_t>(PyTuple_GET_SIZE(key)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) indices.push_back(indexOf(PyTuple_GET_ITEM(key, i)));
  return indices;
}

}  // namespace shunt::python
