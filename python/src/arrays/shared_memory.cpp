#include "python/src/arrays/shared_memory.h"

#include "python/src/arrays/numpy_types.h"
#include "python/src/base/errors.h"
#include "python/src/base/log.h"

#include <shunt/core/inline_vector.h>

#include <memory>

namespace shunt::python {

namespace {

struct Release {
  void operator()(Py_buffer* view) const {
    if (isInterpreterAlive()) {
      const Gil gil;
      PyBuffer_Release(view);
    }
    delete view;
  }
};
using Buffer = std::unique_ptr<Py_buffer, Release>;

/// Null, with Python's error set, where the object has no such buffer.
Buffer bufferOf(PyObject* object, int flags) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, view.get(), flags) != 0) return nullptr;
  return Buffer(view.release());
}

Tensor tensorOver(Buffer buffer, void* data, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  static std::byte nothing[8];  // for tensors without elements
  if (data == nullptr) data = nothing;
  const std::shared_ptr<Py_buffer> shared = std::move(buffer);
  return from_blob(data, sizes, strides, [shared](void*) {}, TensorOptions(dtype));
}

void warnReadOnly(const char* what) {
  const std::string text =
      std::string("The given ") + what +
      " is not writable, and Shunt has no read-only tensors: writing to this tensor changes memory "
      "that its owner takes for constant. Copy it to protect its data, or make it writable.";
  warnCaller(PyExc_UserWarning, text);
}

using Dims = InlineVector<int64_t, 6>;

Dims stridesOf(const Py_buffer& view) {
  Dims strides;
  for (int d = 0; d < view.ndim; ++d) {
    const Py_ssize_t bytes = view.strides[d];
    if (bytes < 0)
      raise(
          PyExc_ValueError,
          "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
          "currently supported. (You can probably work around this by making a copy of your array with array.copy().)");
    if (bytes % view.itemsize != 0)
      raise(PyExc_ValueError,
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory.");
    strides.push_back(bytes / view.itemsize);
  }
  return strides;
}

IntArrayRef listOf(const Dims& dims) { return {dims.data(), dims.size()}; }

}  // namespace

Tensor tensorOverArray(PyObject* array, bool warn) {
  if (!isNumpyArray(array)) raise(PyExc_TypeError, "expected np.ndarray (got " + typeNameOf(array) + ")");
  const ScalarType dtype = numpyScalarType(array);
  Buffer buffer = bufferOf(array, PyBUF_STRIDES);
  if (buffer == nullptr) throw PythonError();
  const Dims strides = stridesOf(*buffer);
  if (warn && buffer->readonly != 0) warnReadOnly("NumPy array");
  Dims sizes;
  for (int d = 0; d < buffer->ndim; ++d) sizes.push_back(buffer->shape[d]);
  void* const data = buffer->buf;
  return tensorOver(std::move(buffer), data, listOf(sizes), listOf(strides), dtype);
}

Tensor tensorOverBuffer(PyObject* object, ScalarType dtype, int64_t count, int64_t offset) {
  if (!PyObject_CheckBuffer(object)) raise(PyExc_ValueError, "object does not implement Python buffer protocol.");
  const int64_t item = elementSize(dtype);
  if (item == 0) throw NotImplementedError(detail::str("frombuffer(): Shunt has no tensors of dtype ", dtype));
  Buffer buffer = bufferOf(object, PyBUF_WRITABLE);
  if (buffer == nullptr) {
    PyErr_Clear();
    buffer = bufferOf(object, PyBUF_SIMPLE);
  }
  if (buffer == nullptr) throw PythonError();
  const int64_t length = buffer->len;
  const auto fail = [](const auto&... parts) { raise(PyExc_ValueError, detail::str(parts...)); };
  if (length == 0 || count == 0) fail("both buffer length (", length, ") and count (", count, ") must not be 0");
  if (offset < 0 || offset >= length)
    fail("offset (", offset, " bytes) must be non-negative and no greater than buffer length (", length,
         " bytes) minus 1");
  const int64_t rest = length - offset;
  if (count < 0 && rest % item != 0)
    fail("buffer length (", rest, " bytes) after offset (", offset, " bytes) must be a multiple of element size (",
         item, ")");
  if (count > rest / item)
    fail("requested buffer length (", count, " * ", item, " bytes) after offset (", offset,
         " bytes) must not be greater than actual buffer length (", length, " bytes)");
  if (count < 0) count = rest / item;
  if (buffer->readonly != 0) warnReadOnly("buffer");
  void* const data = static_cast<std::byte*>(buffer->buf) + offset;
  return tensorOver(std::move(buffer), data, IntArrayRef(&count, 1), {}, dtype);
}

}  // namespace shunt::python
