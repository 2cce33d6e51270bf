#include "python/src/call/convert.h"

#include "python/src/base/errors.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/generator.h"

#include <shunt/device/cuda.h>

#include <algorithm>

namespace shunt::python {

namespace {

[[noreturn]] SHUNT_COLD void raiseElement(const Parameter& p, Py_ssize_t place, const char* wanted, PyObject* got) {
  const std::string type = typeNameOf(got);
  PyErr_Format(PyExc_TypeError, "%s(): argument '%U' must be %s, but found element of type %s at pos %zd", p.function,
               p.name, wanted, type.c_str(), place);
  throw PythonError();
}

int64_t intOf(PyObject* o) {
  if (PyLong_Check(o)) [[likely]] {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow != 0)
      raise(PyExc_OverflowError, "Overflow when unpacking long: " + reprOf(o) + " doesn't fit in 64 bits");
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    return value;
  }
  if (isTensor(o)) return tensorOf(o).item<int64_t>();
  const Ref number = owned(PyNumber_Index(o));
  return intOf(number.get());
}

double doubleOf(PyObject* o) {
  if (isTensor(o)) return tensorOf(o).item<double>();
  const double value = PyFloat_AsDouble(o);
  if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

}  // namespace

int64_t toInt(const Parameter&, PyObject* o) { return intOf(o); }
double toDouble(const Parameter&, PyObject* o) { return doubleOf(o); }

bool toBool(PyObject* o) {
  const int on = PyObject_IsTrue(o);
  checkStatus(on);
  return on != 0;
}

Scalar toScalar(PyObject* o) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) return intOf(o);
  if (isTensor(o)) return tensorOf(o).item();
  if (PyComplex_Check(o)) throw NotImplementedError("there are no complex numbers in Shunt: got " + reprOf(o));
  if (PyIndex_Check(o)) return intOf(o);
  // numpy.bool says what it is by its name only.
  if (std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.bool")) return Scalar(toBool(o));
  return doubleOf(o);
}

std::string_view toText(PyObject* o) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(o, &size);
  if (data == nullptr) throw PythonError();
  return {data, static_cast<size_t>(size)};
}

void toInts(const Parameter& p, PyObject* o, Ints& out) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    const int64_t value = intOf(o);
    for (int64_t i = 0; i < std::max<int64_t>(p.fixed_size, 1); ++i) out.push_back(value);
    return;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_ITEMS(o)[i];
    if (!PyLong_CheckExact(item) && (PyBool_Check(item) || PyFloat_Check(item) || !PyIndex_Check(item)))
      raiseElement(p, i, "tuple of ints", item);
    out.push_back(intOf(item));
  }
}

// Lists of tensors are the caller's own, which another argument's __index__ may have changed since they were looked at.
// Nothing of the program runs in these loops.
void toTensors(const Parameter& p, PyObject* o, InlineVector<Tensor, 4>& out) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  out.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = PySequence_Fast_ITEMS(o)[i];
    if (!isTensor(item)) raiseElement(p, i, "tuple of Tensors", item);
    out.push_back(tensorOf(item));
  }
}

void toOptionalTensors(const Parameter& p, PyObject* o, std::vector<std::optional<Tensor>>& out) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = PySequence_Fast_ITEMS(o)[i];
    if (item != Py_None && !isTensor(item)) raiseElement(p, i, "tuple of Tensors or None", item);
    out.push_back(item == Py_None ? std::nullopt : std::optional<Tensor>(tensorOf(item)));
  }
}

Tensor wrapNumber(PyObject* o) { return wrapped_scalar_tensor(toScalar(o)); }

Device toDevice(PyObject* o) {
  if (isDevice(o)) return deviceOf(o);
  if (PyUnicode_Check(o)) {
    try {
      return Device(std::string(toText(o)));
    } catch (const Error& e) {
      raise(PyExc_RuntimeError, e.what() + dtypeMeantBy(o));
    }
  }
  // PyTorch's: a number is an accelerator's.
  const int64_t index = intOf(o);
  if (!cuda::is_available())
    raise(PyExc_RuntimeError, "Cannot access accelerator device when none is available: device " +
                                  std::to_string(index) + " is the number of one. The CPU is 'cpu'.");
  return Device(kCUDA, static_cast<DeviceIndex>(index));
}

int64_t constantOf(PyObject* o) { return constantValue(o); }

Generator toGenerator(PyObject* o) { return generatorOf(o); }

}  // namespace shunt::python
