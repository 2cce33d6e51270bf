// What a tensor is: sizes, strides, dtype, device, storage.
#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/size.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>
#include <shunt/tensor/asked.h>

namespace shunt::python {

namespace {

/// A getter of a plain value.
template <auto get>
PyObject* property(PyObject* self, void*) {
  return guarded([&] { return get(tensorOf(self)); });
}
template <auto get>
PyObject* method(PyObject* self, PyObject*) {
  return guarded([&] { return get(tensorOf(self)); });
}

PyObject* wrapInt(int64_t v) { return PyLong_FromLongLong(v); }
PyObject* wrapBool(bool v) { return PyBool_FromLong(v); }

constexpr auto shape = [](const Tensor& t) { return wrapSize(t.sizes()); };
constexpr auto dtype = [](const Tensor& t) { return Py_NewRef(dtypeObject(t.scalar_type())); };
constexpr auto device = [](const Tensor& t) { return wrapDevice(t.device()); };
constexpr auto layout = [](const Tensor& t) { return Py_NewRef(layoutObject(t.layout())); };
constexpr auto ndim = [](const Tensor& t) { return wrapInt(t.dim()); };
constexpr auto numel = [](const Tensor& t) { return wrapInt(t.numel()); };
constexpr auto itemsize = [](const Tensor& t) { return wrapInt(t.element_size()); };
constexpr auto nbytes = [](const Tensor& t) { return wrapInt(static_cast<int64_t>(t.nbytes())); };
constexpr auto version = [](const Tensor& t) { return wrapInt(t._version()); };
constexpr auto isCpu = [](const Tensor& t) { return wrapBool(t.is_cpu()); };
constexpr auto isCuda = [](const Tensor& t) { return wrapBool(t.is_cuda()); };
constexpr auto isMeta = [](const Tensor& t) { return wrapBool(t.is_meta()); };
constexpr auto isSparse = [](const Tensor& t) { return wrapBool(t.layout() == kSparse); };
constexpr auto never = [](const Tensor&) { return wrapBool(false); };
constexpr auto isFloating = [](const Tensor& t) { return wrapBool(t.is_floating_point()); };
constexpr auto isComplex = [](const Tensor& t) { return wrapBool(isComplexType(t.scalar_type())); };
constexpr auto isSigned = [](const Tensor& t) { return wrapBool(t.is_signed()); };
constexpr auto isInference = [](const Tensor& t) { return wrapBool(t.is_inference()); };
constexpr auto offset = [](const Tensor& t) {
  shunt::detail::noteOffsetAsked(t);
  return wrapInt(t.storage_offset());
};
constexpr auto address = [](const Tensor& t) {
  return PyLong_FromVoidPtr(t.numel() == 0 || t.is_meta() ? nullptr : t.data_ptr());
};

Py_ssize_t dimensionOf(PyObject* o, const char* name) {
  if (!PyIndex_Check(o))
    raise(PyExc_TypeError, std::string(name) + "(): argument 'dim' must be int, not " + typeNameOf(o));
  const Py_ssize_t d = PyNumber_AsSsize_t(o, PyExc_OverflowError);
  if (d == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return d;
}

/// size() and stride(): all, or one dimension's.
template <auto all, auto one>
PyObject* allOrOne(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"dim", nullptr};
    PyObject* dim = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", const_cast<char**>(names), &dim)) return nullptr;
    const Tensor& t = tensorOf(self);
    return dim == Py_None ? all(t) : wrapInt(one(t, dimensionOf(dim, "size")));
  });
}
constexpr auto strides = [](const Tensor& t) { return wrapInts(t.strides()); };
constexpr auto sizeAt = [](const Tensor& t, int64_t d) { return t.size(d); };
constexpr auto strideAt = [](const Tensor& t, int64_t d) { return t.stride(d); };

PyObject* isContiguous(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"memory_format", nullptr};
    PyObject* format = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O", const_cast<char**>(names), &format)) return nullptr;
    if (format == nullptr) return wrapBool(tensorOf(self).is_contiguous());
    if (!isMemoryFormat(format))
      raise(PyExc_TypeError, "is_contiguous(): argument 'memory_format' must be shunt.memory_format, not " +
                                 typeNameOf(format) + memoryFormatMeantBy(format));
    return wrapBool(tensorOf(self).is_contiguous(static_cast<MemoryFormat>(constantValue(format))));
  });
}

PyObject* isSetTo(PyObject* self, PyObject* other) {
  return guarded([&] {
    if (!isTensor(other))
      raise(PyExc_TypeError, "is_set_to(): argument 'tensor' must be Tensor, not " + typeNameOf(other));
    const Tensor &a = tensorOf(self), &b = tensorOf(other);
    for (const Tensor* t : {&a, &b}) shunt::detail::noteMemoryAsked(*t, "is_set_to()");
    return wrapBool(a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
                    a.strides() == b.strides());
  });
}
PyObject* isSameSize(PyObject* self, PyObject* other) {
  return guarded([&] {
    if (!isTensor(other))
      raise(PyExc_TypeError, "is_same_size(): argument 'other' must be Tensor, not " + typeNameOf(other));
    return wrapBool(tensorOf(self).sizes() == tensorOf(other).sizes());
  });
}

PyCFunction withKeywords(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

template <class Unused>
PyObject* itself(PyObject* self, Unused*) {
  return Py_NewRef(self);
}

}  // namespace

PyGetSetDef tensor_metadata_properties[] = {
    {"shape", property<shape>, nullptr, "The sizes, a Size.", nullptr},
    {"dtype", property<dtype>, nullptr, "The type of its elements.", nullptr},
    {"device", property<device>, nullptr, "Where its elements are.", nullptr},
    {"layout", property<layout>, nullptr, "How its elements are stored.", nullptr},
    {"ndim", property<ndim>, nullptr, "The number of its dimensions.", nullptr},
    {"itemsize", property<itemsize>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", property<nbytes>, nullptr, "Bytes of all its elements.", nullptr},
    {"_version", property<version>, nullptr, "How often it, and what it shares memory with, has been changed in place.",
     nullptr},
    {"is_cpu", property<isCpu>, nullptr, "Whether it is on the CPU.", nullptr},
    {"is_cuda", property<isCuda>, nullptr, "Whether it is on a CUDA device.", nullptr},
    {"is_meta", property<isMeta>, nullptr, "Whether it has a shape but no elements.", nullptr},
    {"is_sparse", property<isSparse>, nullptr, "Whether it is sparse (COO).", nullptr},
    {"is_quantized", property<never>, nullptr, "Whether its elements are quantized: False.", nullptr},
    {"is_nested", property<never>, nullptr, "Whether it is a list of tensors of several sizes: False.", nullptr},
    {"is_mps", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_xpu", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_ipu", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_mkldnn", property<never>, nullptr, "Whether it has a layout of oneDNN's: False.", nullptr},
    {"is_vulkan", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_xla", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_mtia", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_maia", property<never>, nullptr, "Whether it is on a device of that kind: False.", nullptr},
    {"is_sparse_csr", property<never>, nullptr, "Whether it is sparse, by rows: False.", nullptr},
    {"real", itself<void>, nullptr, "Itself: there are no complex numbers.", nullptr},
    {},
};

PyMethodDef tensor_metadata_methods[] = {
    {"size", withKeywords(allOrOne<shape, sizeAt>), METH_VARARGS | METH_KEYWORDS,
     "size(dim=None) -> Size or int\n\nThe sizes, or that of one dimension. IndexError where dim is out of range."},
    {"stride", withKeywords(allOrOne<strides, strideAt>), METH_VARARGS | METH_KEYWORDS,
     "stride(dim=None) -> tuple or int\n\nThe steps from one element to the next, in elements, or that of one "
     "dimension."},
    {"dim", method<ndim>, METH_NOARGS, "dim() -> int\n\nThe number of dimensions."},
    {"ndimension", method<ndim>, METH_NOARGS, "ndimension() -> int\n\nThe number of dimensions."},
    {"numel", method<numel>, METH_NOARGS, "numel() -> int\n\nThe number of elements."},
    {"nelement", method<numel>, METH_NOARGS, "nelement() -> int\n\nThe number of elements."},
    {"element_size", method<itemsize>, METH_NOARGS, "element_size() -> int\n\nBytes of one element."},
    {"storage_offset", method<offset>, METH_NOARGS,
     "storage_offset() -> int\n\nWhere in its storage the first element is, in elements."},
    {"data_ptr", method<address>, METH_NOARGS,
     "data_ptr() -> int\n\nThe address of the first element; 0 without elements."},
    {"is_contiguous", withKeywords(isContiguous), METH_VARARGS | METH_KEYWORDS,
     "is_contiguous(*, memory_format=contiguous_format) -> bool\n\nWhether its elements lie in memory in that order."},
    {"is_floating_point", method<isFloating>, METH_NOARGS, "is_floating_point() -> bool"},
    {"is_complex", method<isComplex>, METH_NOARGS, "is_complex() -> bool"},
    {"is_signed", method<isSigned>, METH_NOARGS, "is_signed() -> bool"},
    {"is_inference", method<isInference>, METH_NOARGS,
     "is_inference() -> bool\n\nWhether it was made in inference mode."},
    {"is_conj", method<never>, METH_NOARGS, "is_conj() -> bool\n\nFalse: there are no complex numbers."},
    {"is_neg", method<never>, METH_NOARGS, "is_neg() -> bool\n\nFalse: no tensor is negated later."},
    {"resolve_conj", itself<PyObject>, METH_NOARGS, "resolve_conj() -> Tensor\n\nItself."},
    {"resolve_neg", itself<PyObject>, METH_NOARGS, "resolve_neg() -> Tensor\n\nItself."},
    {"is_pinned", method<never>, METH_NOARGS, "is_pinned() -> bool\n\nFalse: no memory of Shunt's is page-locked."},
    {"is_set_to", isSetTo, METH_O, "is_set_to(tensor) -> bool\n\nWhether both are the same elements of one storage."},
    {"is_same_size", isSameSize, METH_O, "is_same_size(other) -> bool"},
    {},
};

}  // namespace shunt::python
