#include "python/src/types/storage.h"

#include "python/src/base/errors.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>
#include <shunt/tensor/wrapper_kind.h>

#include <cstring>
#include <unordered_map>

namespace shunt::python {

namespace {

struct StorageObject {
  PyObject_HEAD Storage storage;
  Py_ssize_t exports;  // buffers that show its memory
};

extern PyTypeObject StorageType;

StorageObject* asObject(PyObject* o) { return reinterpret_cast<StorageObject*>(o); }
const Storage& storageOf(PyObject* o) { return asObject(o)->storage; }

/// The objects that are alive, which the map doesn't own.
std::unordered_map<StorageImpl*, PyObject*>& objects() {
  static auto& map = *new std::unordered_map<StorageImpl*, PyObject*>();
  return map;
}

std::byte* bytesOf(PyObject* self) {
  const Storage& s = storageOf(self);
  if (!s.device().is_cpu()) raise(PyExc_RuntimeError, "a storage on " + s.device().str() + " has no bytes here");
  return s->data();
}

Storage newStorage(size_t nbytes) {
  const auto n = static_cast<int64_t>(nbytes);
  return Tensor(detail::makeCpuTensor(IntArrayRef(&n, 1), {}, kByte)).storage();
}

PyObject* construct(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"size", nullptr};
    Py_ssize_t n = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|n:UntypedStorage", const_cast<char**>(names), &n))
      return nullptr;
    if (n < 0) raise(PyExc_RuntimeError, "UntypedStorage(): size must not be negative, got " + std::to_string(n));
    return wrapStorage(newStorage(static_cast<size_t>(n)));
  });
}

void dealloc(PyObject* self) {
  objects().erase(storageOf(self).get());
  asObject(self)->storage.~Storage();
  Py_TYPE(self)->tp_free(self);
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storageOf(self).nbytes()); }
Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(storageOf(self).nbytes()); }
PyObject* dataPtr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(storageOf(self)->data()); }
PyObject* resizable(PyObject* self, PyObject*) { return PyBool_FromLong(storageOf(self)->resizable()); }
PyObject* never(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&] {
    const Py_ssize_t n = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (n < 0) raise(PyExc_RuntimeError, "resize_(): the size must not be negative, got " + std::to_string(n));
    if (asObject(self)->exports > 0) raise(PyExc_BufferError, "resize_(): a buffer shows the storage's memory");
    storageOf(self)->resize(static_cast<size_t>(n));
    return Py_NewRef(self);
  });
}

PyObject* item(PyObject* self, Py_ssize_t i) {
  return guarded([&]() -> PyObject* {
    if (i < 0 || i >= length(self))
      raise(PyExc_IndexError,
            "index " + std::to_string(i) + " out of range for storage of size " + std::to_string(length(self)));
    return PyLong_FromLong(static_cast<uint8_t>(bytesOf(self)[i]));
  });
}

PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }

PyObject* copyBytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::byte* from = bytesOf(self);
    Storage copy = newStorage(storageOf(self).nbytes());
    if (copy.nbytes() != 0) std::memcpy(copy->data(), from, copy.nbytes());
    return wrapStorage(copy);
  });
}

/// UntypedStorage._from_buffer(bytes): a copy.
PyObject* fromBuffer(PyObject*, PyObject* source) {
  Py_buffer view;
  if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) != 0) return nullptr;
  PyObject* made = guarded([&] {
    Storage copy = newStorage(static_cast<size_t>(view.len));
    if (view.len != 0) std::memcpy(copy->data(), view.buf, static_cast<size_t>(view.len));
    return wrapStorage(copy);
  });
  PyBuffer_Release(&view);
  return made;
}

PyObject* getDevice(PyObject* self, void*) { return wrapDevice(storageOf(self).device()); }
PyObject* isCuda(PyObject* self, void*) { return PyBool_FromLong(storageOf(self).device().type() == kCUDA); }

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("[shunt.UntypedStorage(device=%s) of size %zd]", storageOf(self).device().str().c_str(),
                              length(self));
}

int getBuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guardedStatus([&] {
    static std::byte nothing[1];
    std::byte* data = bytesOf(self);
    checkStatus(PyBuffer_FillInfo(view, self, data == nullptr ? nothing : data, length(self), 0, flags));
    ++asObject(self)->exports;
    return 0;
  });
}
void releaseBuffer(PyObject* self, Py_buffer*) { --asObject(self)->exports; }

PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "nbytes() -> int\n\nIts size in bytes."},
    {"size", nbytes, METH_NOARGS, "size() -> int\n\nIts size in bytes."},
    {"data_ptr", dataPtr, METH_NOARGS, "data_ptr() -> int\n\nThe address of its first byte."},
    {"resizable", resizable, METH_NOARGS, "resizable() -> bool\n\nWhether resize_() can change its size."},
    {"resize_", resize, METH_O,
     "resize_(size) -> UntypedStorage\n\nChanges its size in bytes, keeping the first ones."},
    {"element_size", [](PyObject*, PyObject*) { return PyLong_FromLong(1); }, METH_NOARGS,
     "element_size() -> int\n\n1."},
    {"tolist", tolist, METH_NOARGS, "tolist() -> list\n\nIts bytes as ints."},
    {"clone", copyBytes, METH_NOARGS, "clone() -> UntypedStorage\n\nA copy."},
    {"cpu", itself, METH_NOARGS, "cpu() -> UntypedStorage\n\nItself: storages of Shunt's own are the CPU's."},
    {"is_shared", never, METH_NOARGS, "is_shared() -> bool\n\nFalse: no memory is shared with other processes."},
    {"is_pinned", never, METH_NOARGS, "is_pinned() -> bool\n\nFalse: no memory of Shunt's is page-locked."},
    {"_from_buffer", fromBuffer, METH_O | METH_STATIC, "A new storage with a copy of the bytes of a buffer."},
    {},
};
PyGetSetDef properties[] = {{"device", getDevice, nullptr, "Where it is.", nullptr},
                            {"is_cuda", isCuda, nullptr, "Whether it is on a CUDA device.", nullptr},
                            {}};
PySequenceMethods sequence = {.sq_length = length, .sq_item = item};
PyBufferProcs buffer = {.bf_getbuffer = getBuffer, .bf_releasebuffer = releaseBuffer};

PyTypeObject StorageType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt.UntypedStorage",
    .tp_basicsize = sizeof(StorageObject),
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_as_sequence = &sequence,
    .tp_as_buffer = &buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "UntypedStorage(size=0)\n\nBytes, which tensors may share. Its elements are ints from 0 to 255.",
    .tp_methods = methods,
    .tp_getset = properties,
    .tp_new = construct,
};

std::vector<int64_t> intsOf(PyObject* tuple) {
  std::vector<int64_t> ints;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long long value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    ints.push_back(value);
  }
  return ints;
}

/// _tensor_over_storage(storage, offset, size, stride, dtype). What a pickle says is not believed: a tensor never
/// reaches beyond its storage.
PyObject* tensorOverStorage(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *storage = nullptr, *size = nullptr, *stride = nullptr, *dtype = nullptr;
    long long offset = 0;
    if (!PyArg_ParseTuple(arguments, "O!LO!O!O:_tensor_over_storage", &StorageType, &storage, &offset, &PyTuple_Type,
                          &size, &PyTuple_Type, &stride, &dtype))
      return nullptr;
    if (!isDType(dtype)) raise(PyExc_TypeError, "expected a shunt.dtype, got " + typeNameOf(dtype));
    const std::vector<int64_t> sizes = intsOf(size), strides = intsOf(stride);
    const ScalarType type = dtypeOf(dtype);
    const int64_t item = elementSize(type);
    if (item == 0) throw NotImplementedError(detail::str("Shunt has no tensors of dtype ", type));
    if (sizes.size() != strides.size())
      raise(PyExc_ValueError, "a tensor has as many strides as sizes: got " +
                                  detail::str(IntArrayRef(sizes), " and ", IntArrayRef(strides)));
    for (const int64_t s : strides)
      if (s < 0) raise(PyExc_ValueError, "strides must not be negative, got " + detail::str(IntArrayRef(strides)));
    const Storage& bytes = storageOf(storage);
    const int64_t span = detail::storageBytes("tensor", sizes, strides, item);
    const auto available = static_cast<int64_t>(bytes.nbytes());
    if (offset < 0 || offset > available / item || (span > 0 && span > available - offset * item))
      raise(PyExc_RuntimeError,
            detail::str("a tensor of size ", IntArrayRef(sizes), ", strides ", IntArrayRef(strides), " and offset ",
                        int64_t{offset}, " is out of bounds for a storage of ", available, " bytes"));
    auto impl = make_intrusive<TensorImpl>(bytes, keySetFor(bytes.device()), type);
    impl->set_sizes_and_strides(sizes, strides, offset);
    return wrap(Tensor(std::move(impl)));
  });
}

PyObject* untypedStorage(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (const char* why = t.is_meta() ? nullptr : whyNoData(t))
      raise(PyExc_NotImplementedError, std::string("Cannot access storage of ") + why);
    return wrapStorage(t.storage());
  });
}

}  // namespace

void addStorage(PyObject* module) {
  checkStatus(PyType_Ready(&StorageType));
  checkStatus(PyModule_AddType(module, &StorageType));
}

PyObject* wrapStorage(const Storage& storage) {
  auto& known = objects();
  if (const auto found = known.find(storage.get()); found != known.end()) return Py_NewRef(found->second);
  PyObject* o = check(StorageType.tp_alloc(&StorageType, 0));
  new (&asObject(o)->storage) Storage(storage);
  asObject(o)->exports = 0;
  known.emplace(storage.get(), o);
  return o;
}

PyMethodDef storage_functions[] = {{"_tensor_over_storage", tensorOverStorage, METH_VARARGS, nullptr}, {}};
PyMethodDef tensor_storage_methods[] = {
    {"untyped_storage", untypedStorage, METH_NOARGS,
     "untyped_storage() -> UntypedStorage\n\nThe memory that it, and what shares memory with it, lies in."},
    {},
};

}  // namespace shunt::python
