#include "python/src/arrays/python_data.h"

#include "python/src/arrays/numpy_types.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/core/inline_vector.h>
#include <shunt/tensor/tensor_impl.h>

#include <algorithm>

namespace shunt::python {

namespace {

constexpr size_t kMaxDimensions = 64;
using Sizes = InlineVector<int64_t, 6>;

bool isText(PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); }
/// Whether it has elements: tensors count as numbers, as PyTorch has it.
bool hasElements(PyObject* o) {
  if (PyFloat_CheckExact(o) || PyLong_CheckExact(o)) return false;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) return true;
  return PySequence_Check(o) && !isText(o) && !isTensor(o);
}

[[noreturn]] SHUNT_COLD void raiseInvalid(PyObject* o) {
  raise(PyExc_TypeError, "new(): invalid data type '" + typeNameOf(o) + "'");
}

/// The sizes, by the first elements.
Sizes sizesOf(PyObject* data) {
  Sizes sizes;
  Ref at = Ref::borrow(data);
  while (hasElements(at.get())) {
    const Py_ssize_t n = PySequence_Size(at.get());
    if (n < 0) throw PythonError();
    sizes.push_back(n);
    if (sizes.size() > kMaxDimensions) {
      if (at.get() == data) raise(PyExc_TypeError, "new(): self-referential lists are incompatible");
      raise(PyExc_ValueError, "too many dimensions '" + typeNameOf(data) + "'");
    }
    if (n == 0) return sizes;
    Ref first = owned(PySequence_GetItem(at.get(), 0));
    if (first.get() == at.get()) raise(PyExc_TypeError, "new(): self-referential lists are incompatible");
    at = std::move(first);
  }
  if (PyUnicode_Check(at.get()) && !sizes.empty() && PyUnicode_GET_LENGTH(at.get()) > 0)
    raise(PyExc_ValueError, "too many dimensions '" + typeNameOf(at.get()) + "'");
  if (isText(at.get())) raiseInvalid(at.get());
  return sizes;
}

/// The elements of a list or tuple, or a list of another sequence's.
Ref elementsOf(PyObject* o) {
  if (isTensor(o) || isText(o)) raise(PyExc_TypeError, "not a sequence");
  return owned(PySequence_Fast(o, "not a sequence"));
}

/// Calls f(item) for each, also where f runs code of the program's, which may change the list.
template <class F>
void forEach(PyObject* elements, F&& f) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(elements); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(elements, i);
    if (PyFloat_CheckExact(item) || PyLong_CheckExact(item)) {
      f(item);
    } else {
      const Ref kept = Ref::borrow(item);
      f(kept.get());
    }
  }
}

ScalarType typeOfElement(PyObject* o) {
  if (PyBool_Check(o)) return kBool;
  if (isTensor(o)) return tensorOf(o).scalar_type();
  if (isNumpyScalar(o) || isNumpyArray(o)) return isText(o) ? (raiseInvalid(o), kBool) : numpyScalarType(o);
  if (PyFloat_Check(o)) return get_default_dtype();
  if (PyLong_Check(o)) return kLong;
  if (PyComplex_Check(o)) throw NotImplementedError("tensor(): there are no complex numbers in Shunt");
  if (isText(o)) raiseInvalid(o);
  raise(PyExc_RuntimeError, "Could not infer dtype of " + typeNameOf(o));
}

/// Adds the type of all elements of `o` to `type`.
void promoteTo(std::optional<ScalarType>& type, PyObject* o, size_t depth) {
  const auto add = [&](ScalarType t) {
    if (type != t) type = type ? promoteTypes(*type, t) : t;
  };
  if (PyFloat_CheckExact(o)) return add(get_default_dtype());
  if (PyLong_CheckExact(o)) return add(kLong);
  if (!hasElements(o)) return add(typeOfElement(o));
  if (isNumpyArray(o)) return add(numpyScalarType(o));
  if (depth > kMaxDimensions) raise(PyExc_TypeError, "new(): self-referential lists are incompatible");
  const Ref elements = elementsOf(o);
  if (PySequence_Fast_GET_SIZE(elements.get()) == 0) return add(get_default_dtype());
  forEach(elements.get(), [&](PyObject* item) { promoteTo(type, item, depth + 1); });
}

[[noreturn]] SHUNT_COLD void raiseLarge() { raise(PyExc_ValueError, "Overflow when unpacking long long"); }

Scalar numberIn(PyObject* o) {
  const Tensor& t = tensorOf(o);
  if (t.numel() != 1) raise(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
  return t.item();
}

Scalar integerOf(PyObject* o) {
  if (isTensor(o)) return numberIn(o);
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (!PyIndex_Check(o) && !hasElements(o) && Py_TYPE(o)->tp_as_number != nullptr &&
      Py_TYPE(o)->tp_as_number->nb_float != nullptr) {
    const double value = PyFloat_AsDouble(o);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
    return value;
  }
  const Ref number = owned(PyNumber_Index(o));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) raiseLarge();
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

template <class T>
T valueOf(PyObject* o) {
  if constexpr (std::is_same_v<T, bool>) {
    if (isTensor(o)) return numberIn(o).toBool();
    const int on = PyObject_IsTrue(o);
    checkStatus(on);
    return on != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (PyLong_CheckExact(o)) [[likely]] {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow != 0) raiseLarge();
      if constexpr (std::is_same_v<T, int64_t>) return value;
      return Scalar(value).to<T>();
    }
    return integerOf(o).template to<T>();
  } else {
    double value = 0;
    if (PyFloat_CheckExact(o)) [[likely]] {
      value = PyFloat_AS_DOUBLE(o);
    } else if (isTensor(o)) {
      value = numberIn(o).toDouble();
    } else {
      value = PyFloat_AsDouble(o);
      if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
    }
    if constexpr (std::is_same_v<T, double>)
      return value;
    else
      return static_cast<T>(static_cast<float>(value));
  }
}

template <class T>
T* store(PyObject* o, const Sizes& sizes, size_t dim, T* out) {
  if (dim == sizes.size()) {
    *out = valueOf<T>(o);
    return out + 1;
  }
  const Ref elements = elementsOf(o);
  const auto checkLength = [&](int64_t n) {
    if (n != sizes[dim])
      raise(PyExc_ValueError, "expected sequence of length " + std::to_string(sizes[dim]) + " at dim " +
                                  std::to_string(dim) + " (got " + std::to_string(n) + ")");
  };
  checkLength(PySequence_Fast_GET_SIZE(elements.get()));
  int64_t done = 0;
  forEach(elements.get(), [&](PyObject* item) {
    if (++done > sizes[dim]) checkLength(done);
    out = store(item, sizes, dim + 1, out);
  });
  checkLength(done);
  return out;
}

}  // namespace

Tensor tensorOfData(PyObject* data, std::optional<ScalarType> dtype) {
  const Sizes sizes = sizesOf(data);
  if (!dtype) promoteTo(dtype, data, 0);
  Tensor result(detail::makeCpuTensor(IntArrayRef(sizes.data(), sizes.size()), {}, *dtype));
  // Without elements there is nothing to compare with the sizes: PyTorch doesn't look further, either.
  if (result.numel() == 0) return result;
  dispatchAllTypes(*dtype, "tensor", [&]<class T>(std::type_identity<T>) {
    store(data, sizes, 0, static_cast<T*>(static_cast<void*>(result.unsafeGetTensorImpl()->data())));
  });
  return result;
}

}  // namespace shunt::python
