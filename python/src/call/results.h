// Results of operators as Python's objects: new references, or null with an error set.
#pragma once

#include "python/src/types/tensor.h"

#include <shunt/tensor/scalar.h>

#include <tuple>
#include <vector>

namespace shunt::python {

PyObject* wrapScalar(const Scalar& value);
PyObject* wrapTensors(std::vector<Tensor>&& list);

inline PyObject* wrapResult(Tensor&& t) { return wrap(std::move(t)); }
inline PyObject* wrapResult(Tensor& t) { return wrap(t); }
inline PyObject* wrapResult(const Tensor& t) { return wrap(t); }
inline PyObject* wrapResult(std::vector<Tensor>&& list) { return wrapTensors(std::move(list)); }
inline PyObject* wrapResult(const Scalar& value) { return wrapScalar(value); }
inline PyObject* wrapResult(bool value) { return PyBool_FromLong(value); }
inline PyObject* wrapResult(int64_t value) { return PyLong_FromLongLong(value); }
inline PyObject* wrapResult(double value) { return PyFloat_FromDouble(value); }
PyObject* wrapResult(ScalarType value);

/// Several results: a tuple, with names where the operator's results have them.
template <class... T>
PyObject* wrapResults(PyTypeObject* type, std::tuple<T...>&& results) {
  constexpr auto n = static_cast<Py_ssize_t>(sizeof...(T));
  Ref tuple = owned(type != nullptr ? PyStructSequence_New(type) : PyTuple_New(n));
  std::apply(
      [&](auto&&... one) {
        Py_ssize_t i = 0;
        (PyTuple_SET_ITEM(tuple.get(), i++, check(wrapResult(std::forward<T>(one)))), ...);
      },
      std::move(results));
  return tuple.release();
}

}  // namespace shunt::python
