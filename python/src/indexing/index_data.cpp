#include "python/src/indexing/index_data.h"

#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>

#include <cstring>

namespace shunt::python {

namespace {

/// A buffer of Python's for a scope.
class Buffer {
 public:
  explicit Buffer(PyObject* o) { checkStatus(PyObject_GetBuffer(o, &view_, PyBUF_FULL_RO)); }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  const Py_buffer& operator*() const { return view_; }

 private:
  Py_buffer view_;
};

template <class From, class To>
To elementAs(const char* p) {
  From value;
  std::memcpy(&value, p, sizeof value);
  return static_cast<To>(value);
}

template <class To>
using Read = To (*)(const char*);

/// How elements of this format are read; null for those that are no numbers, or not of this machine.
template <class To>
Read<To> readerOf(const char* format) {
  if (*format == '=' || *format == '@' || *format == '<') ++format;
  if (std::strlen(format) != 1) return nullptr;
  switch (*format) {
    case '?':
      return elementAs<bool, To>;
    case 'b':
      return elementAs<signed char, To>;
    case 'B':
      return elementAs<unsigned char, To>;
    case 'h':
      return elementAs<short, To>;
    case 'H':
      return elementAs<unsigned short, To>;
    case 'i':
      return elementAs<int, To>;
    case 'I':
      return elementAs<unsigned, To>;
    case 'l':
      return elementAs<long, To>;
    case 'L':
      return elementAs<unsigned long, To>;
    case 'q':
      return elementAs<long long, To>;
    case 'Q':
      return elementAs<unsigned long long, To>;
    case 'f':
      return elementAs<float, To>;
    case 'd':
      return elementAs<double, To>;
    default:
      return nullptr;
  }
}

template <class To>
void readAll(const Py_buffer& b, int d, const char* at, Read<To> read, To*& out) {
  if (d == b.ndim) {
    *out++ = read(at);
    return;
  }
  for (Py_ssize_t i = 0; i < b.shape[d]; ++i) readAll(b, d + 1, at + i * b.strides[d], read, out);
}

template <class To>
Tensor copyOf(const Py_buffer& b, ScalarType type, PyObject* array) {
  const Read<To> read = readerOf<To>(b.format != nullptr ? b.format : "B");
  if (read == nullptr)
    raise(PyExc_TypeError, "an array used as an index has elements of integers or bools, not of format '" +
                               std::string(b.format) + "' (got " + typeNameOf(array) + ")");
  Tensor index = empty(IntArrayRef(std::vector<int64_t>(b.shape, b.shape + b.ndim)), type);
  To* out = static_cast<To*>(index.data_ptr());
  if (index.numel() > 0) readAll(b, 0, static_cast<const char*>(b.buf), read, out);
  return index;
}

Tensor indexFromArray(PyObject* array) {
  const Buffer buffer(array);
  const char* format = (*buffer).format;
  if (format != nullptr && std::strcmp(format, "?") == 0) return copyOf<bool>(*buffer, kBool, array);
  if (format == nullptr || std::strcmp(format, "B") == 0) return copyOf<uint8_t>(*buffer, kByte, array);
  return copyOf<int64_t>(*buffer, kLong, array);
}

/// Whether it has elements that are found by position; a text's aren't numbers.
bool isSequence(PyObject* o) {
  if (isTensor(o)) return tensorOf(o).dim() > 0;
  return PySequence_Check(o) != 0 && !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyByteArray_Check(o);
}

/// Reads nested sequences into one list of numbers.
class Reader {
 public:
  explicit Reader(PyObject* o) {
    measure(o);
    values_.reserve(64);
    read(o, 0);
  }

  Tensor index() const {
    const bool mask = all_bools_ && !values_.empty();
    Tensor result = empty(sizes_, mask ? kBool : kLong);
    if (values_.empty()) return result;
    if (!mask) {
      std::memcpy(result.data_ptr(), values_.data(), values_.size() * sizeof(int64_t));
    } else {
      bool* out = static_cast<bool*>(result.data_ptr());
      for (const int64_t v : values_) *out++ = v != 0;
    }
    return result;
  }

 private:
  /// The sizes, by the first element of each.
  void measure(PyObject* o) {
    Ref at = Ref::borrow(o);
    while (isSequence(at.get())) {
      const Py_ssize_t n = PyObject_Size(at.get());
      if (n < 0) throw PythonError();
      sizes_.push_back(n);
      if (sizes_.size() > kMaxDepth) raise(PyExc_ValueError, "too many dimensions in a sequence used as an index");
      if (n == 0) return;
      at = owned(PySequence_GetItem(at.get(), 0));
    }
  }
  void read(PyObject* o, size_t d) {
    if (d == sizes_.size()) return readNumber(o);
    if (!isSequence(o)) raise(PyExc_TypeError, "not a sequence");
    const Ref fast = owned(PySequence_Fast(o, "a sequence used as an index can't be read"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
    if (n != sizes_[d])
      raise(PyExc_ValueError, "expected sequence of length " + std::to_string(sizes_[d]) + " at dim " +
                                  std::to_string(d) + " (got " + std::to_string(n) + ")");
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Ref element = Ref::borrow(PySequence_Fast_ITEMS(fast.get())[i]);  // reading may change a list
      read(element.get(), d + 1);
      if (PySequence_Fast_GET_SIZE(fast.get()) != n)
        raise(PyExc_RuntimeError, "a list used as an index changed meanwhile");
    }
  }
  void readNumber(PyObject* o) {
    if (PyBool_Check(o)) {
      values_.push_back(o == Py_True);
      return;
    }
    if (isTensor(o) && tensorOf(o).scalar_type() == kBool) {
      values_.push_back(tensorOf(o).item().toBool());
      return;
    }
    all_bools_ = false;
    if (isTensor(o)) {
      const Scalar value = tensorOf(o).item();
      values_.push_back(value.isFloatingPoint() ? static_cast<int64_t>(value.toDouble()) : value.toLong());
    } else if (PyFloat_Check(o)) {
      values_.push_back(static_cast<int64_t>(PyFloat_AS_DOUBLE(o)));
    } else if (PyIndex_Check(o)) {
      const Ref number = owned(PyNumber_Index(o));
      const long long value = PyLong_AsLongLong(number.get());
      if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
      values_.push_back(value);
    } else {
      raise(PyExc_TypeError, "an index can't be made of an element of type '" + typeNameOf(o) + "'");
    }
  }

  static constexpr size_t kMaxDepth = 64;
  std::vector<int64_t> sizes_, values_;
  bool all_bools_ = true;
};

}  // namespace

Tensor indexFromSequence(PyObject* sequence) {
  if (PyUnicode_Check(sequence) || PyBytes_Check(sequence) || PyByteArray_Check(sequence))
    raise(PyExc_TypeError, "an index can't be made of type '" + typeNameOf(sequence) + "'");
  const bool may_be_array =
      !PyList_CheckExact(sequence) && !PyTuple_CheckExact(sequence) && !PyMemoryView_Check(sequence);
  if (may_be_array && PyObject_CheckBuffer(sequence) != 0 && PyObject_HasAttrString(sequence, "__array__") != 0)
    return indexFromArray(sequence);
  return Reader(sequence).index();
}

}  // namespace shunt::python
