#include "python/src/arrays/arguments.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"

#include <shunt/core/near_names.h>

namespace shunt::python {

namespace {

[[noreturn]] SHUNT_COLD void raiseArgument(const char* function, const char* name, const char* wanted, PyObject* got) {
  raise(PyExc_TypeError, std::string(function) + "(): argument '" + name + "' must be " + wanted + ", not " +
                             typeNameOf(got) +
                             (std::string_view(name) == "dtype"    ? dtypeMeantBy(got)
                              : std::string_view(name) == "layout" ? layoutMeantBy(got)
                                                                   : ""));
}

[[noreturn]] SHUNT_COLD void raiseCount(const Parameters& p, Py_ssize_t given) {
  raise(PyExc_TypeError, std::string(p.function) + "() takes " + std::to_string(p.positional) + " positional argument" +
                             (p.positional == 1 ? "" : "s") + " but " + std::to_string(given) +
                             (given == 1 ? " was given" : " were given"));
}

bool isMissing(PyObject* o) { return o == nullptr || o == Py_None; }

}  // namespace

void parseArguments(const Parameters& p, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names,
                    std::span<PyObject*> out) {
  const auto given = static_cast<size_t>(n);
  if (given > p.positional) raiseCount(p, n);
  for (size_t i = 0; i < out.size(); ++i) out[i] = i < given ? args[i] : nullptr;
  const Py_ssize_t num_keywords = keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0;
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(keyword_names, k);
    size_t place = 0;
    while (place < p.names.size() && PyUnicode_CompareWithASCIIString(keyword, p.names[place]) != 0) ++place;
    if (place == p.names.size())
      raise(PyExc_TypeError, std::string(p.function) + "() got an unexpected keyword argument '" + utf8(keyword) + "'" +
                                 shunt::detail::didYouMean(utf8(keyword), {p.names.begin(), p.names.end()}));
    if (out[place] != nullptr)
      raise(PyExc_TypeError, std::string(p.function) + "() got multiple values for argument '" + utf8(keyword) + "'");
    out[place] = args[n + k];
  }
  for (size_t i = 0; i < p.required; ++i)
    if (out[i] == nullptr)
      raise(PyExc_TypeError,
            std::string(p.function) + "() missing 1 required positional argument: \"" + p.names[i] + "\"");
}

std::optional<ScalarType> optionalDType(const char* function, PyObject* o) {
  if (isMissing(o)) return std::nullopt;
  if (!isDType(o)) raiseArgument(function, "dtype", "shunt.dtype", o);
  return dtypeOf(o);
}

std::optional<Device> optionalDevice(const char* function, PyObject* o) {
  if (isMissing(o)) return std::nullopt;
  if (!isDevice(o) && !PyUnicode_Check(o) && (!PyLong_Check(o) || PyBool_Check(o)))
    raiseArgument(function, "device", "shunt.device", o);
  return toDevice(o);
}

bool optionalBool(const char* function, const char* name, PyObject* o, bool fallback) {
  if (isMissing(o)) return fallback;
  if (!PyBool_Check(o)) raiseArgument(function, name, "bool", o);
  return o == Py_True;
}

int64_t optionalInt(const char* function, const char* name, PyObject* o, int64_t fallback) {
  if (isMissing(o)) return fallback;
  if (!PyIndex_Check(o) || PyBool_Check(o)) raiseArgument(function, name, "int", o);
  const Py_ssize_t value = PyNumber_AsSsize_t(o, PyExc_OverflowError);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

}  // namespace shunt::python
