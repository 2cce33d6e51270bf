#include "python/src/call/results.h"

#include "python/src/types/constants.h"

namespace shunt::python {

PyObject* wrapScalar(const Scalar& value) {
  if (value.isBoolean()) return PyBool_FromLong(value.toBool());
  return value.isFloatingPoint() ? PyFloat_FromDouble(value.toDouble()) : PyLong_FromLongLong(value.toLong());
}

PyObject* wrapTensors(std::vector<Tensor>&& list) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(list[i]))));
  return tuple.release();
}

PyObject* wrapResult(ScalarType value) { return Py_NewRef(dtypeObject(value)); }

}  // namespace shunt::python
