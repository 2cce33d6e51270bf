// A tensor's elements as objects of Python: item, tolist, len and conversions to numbers.
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/call/results.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt::python {

namespace {

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
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

/// Of each dimension the first and the last `edge` positions where it has more than twice as many; all with -1.
PyObject* listOf(const Tensor& t, size_t dim, const std::byte* at, int64_t edge,
                 PyObject* (*element)(const std::byte*)) {
  if (dim == t.sizes().size()) return check(element(at));
  const int64_t size = t.sizes()[dim], step = t.strides()[dim] * t.element_size();
  const bool elides = edge >= 0 && size > 2 * edge;
  const int64_t shown = elides ? 2 * edge : size;
  Ref list = owned(PyList_New(shown));
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t place = elides && i >= edge ? size - shown + i : i;
    PyList_SET_ITEM(list.get(), i, listOf(t, dim + 1, at + place * step, edge, element));
  }
  return list.release();
}

/// Throws where the storage has been made smaller than the tensor.
void checkStorage(const Tensor& t) {
  int64_t last = t.storage_offset();
  for (size_t d = 0; d < t.sizes().size(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  if (static_cast<size_t>((last + 1) * t.element_size()) > t.storage()->nbytes())
    raise(PyExc_RuntimeError, "tolist(): the tensor's storage has " + std::to_string(t.storage()->nbytes()) +
                                  " bytes, fewer than its elements take");
}

PyObject* elementsOf(Tensor t, int64_t edge) {
  const NoGradGuard no_grad;
  // Wrappers and other devices have no elements here; a copy on the CPU has, or is an error that says why.
  if (!t.is_cpu()) t = t.cpu();
  if (const char* why = whyNoData(t))
    raise(PyExc_RuntimeError, std::string("tolist(): there are no elements of ") + why);
  if (t.numel() != 0) checkStorage(t);
  const auto* at = static_cast<const std::byte*>(t.numel() == 0 ? nullptr : t.data_ptr());
  return dispatchAllTypes(t.scalar_type(), "tolist",
                          [&]<class T>(std::type_identity<T>) { return listOf(t, 0, at, edge, elementObject<T>); });
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] { return elementsOf(tensorOf(self), -1); });
}

/// _nested_elements(tensor, edge)
PyObject* nestedElements(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    if (n != 2 || !isTensor(args[0])) raise(PyExc_TypeError, "_nested_elements(tensor, edge)");
    const Py_ssize_t edge = PyNumber_AsSsize_t(args[1], PyExc_OverflowError);
    if (edge == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    return elementsOf(tensorOf(args[0]), edge);
  });
}

/// _wrapper_text(tensor): what a tensor without elements of its own prints as; None for others.
PyObject* wrapperText(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!isTensor(tensor)) raise(PyExc_TypeError, "expected a Tensor, got " + typeNameOf(tensor));
    const Tensor& t = tensorOf(tensor);
    if (wrapperKind(t) == WrapperKind::kNone) Py_RETURN_NONE;
    return PyUnicode_FromString(t.toString().c_str());
  });
}

/// _grad_fn_name(tensor): "AddBackward0"; empty for leaves.
PyObject* gradFnName(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!isTensor(tensor)) raise(PyExc_TypeError, "expected a Tensor, got " + typeNameOf(tensor));
    const auto& grad_fn = tensorOf(tensor).grad_fn();
    return PyUnicode_FromString(grad_fn ? shownName(*grad_fn).c_str() : "");
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

PyMethodDef tensor_value_functions[] = {
    {"_nested_elements", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(nestedElements)), METH_FASTCALL,
     nullptr},
    {"_wrapper_text", wrapperText, METH_O, nullptr},
    {"_grad_fn_name", gradFnName, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
