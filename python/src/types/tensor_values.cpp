// A tensor's elements as objects of Python: item, tolist, len and conversions to numbers.
#include "python/src/base/errors.h"
#include "python/src/call/results.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>

namespace shunt::python {

namespace {

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (t.numel() != 1)
      raise(PyExc_RuntimeError,
            "a Tensor with " + std::to_string(t.numel()) + " elements cannot be converted to Scalar");
    return wrapScalar(t.item());
  });
}

template <class T>
PyObject* elementObject(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::is_same_v<T, bool>)
    return PyBool_FromLong(value);
  else if constexpr (std::is_integral_v<T>)
    return PyLong_FromLongLong(value);
  else if constexpr (std::is_same_v<T, double>)
    return PyFloat_FromDouble(value);
  else
    return PyFloat_FromDouble(static_cast<float>(value));
}

PyObject* listOf(const Tensor& t, size_t dim, const std::byte* at, PyObject* (*element)(const std::byte*)) {
  if (dim == t.sizes().size()) return check(element(at));
  Ref list = owned(PyList_New(t.sizes()[dim]));
  const int64_t step = t.strides()[dim] * t.element_size();
  for (int64_t i = 0; i < t.sizes()[dim]; ++i)
    PyList_SET_ITEM(list.get(), i, listOf(t, dim + 1, at + i * step, element));
  return list.release();
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    const NoGradGuard no_grad;
    Tensor t = tensorOf(self);
    // Wrappers and other devices have no elements here; a copy on the CPU has, or is an error that says why.
    if (!t.is_cpu()) t = t.cpu();
    const auto* at = static_cast<const std::byte*>(t.numel() == 0 ? nullptr : t.data_ptr());
    return dispatchAllTypes(t.scalar_type(), "tolist",
                            [&]<class T>(std::type_identity<T>) { return listOf(t, 0, at, elementObject<T>); });
  });
}

}  // namespace

PyMethodDef tensor_value_methods[] = {
    {"item", item, METH_NOARGS,
     "item() -> number\n\nThe value of a tensor of one element, as a bool, an int or a float. RuntimeError for "
     "others."},
    {"tolist", tolist, METH_NOARGS,
     "tolist() -> list or number\n\nThe elements as lists of lists, one for each dimension; of no dimension, the "
     "number."},
    {},
};

}  // namespace shunt::python
