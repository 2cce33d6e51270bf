// x.to(...) in all forms that PyTorch has, and x.float(), x.cpu() and the like, which are calls of it.
#include "python/src/arrays/arguments.h"
#include "python/src/base/errors.h"
#include "python/src/call/entry.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <array>

namespace shunt::python {

namespace {

Entry& toEntry() {
  static Entry& entry = *findEntry("to");
  return entry;
}

constexpr Py_ssize_t kMaxArguments = 8;

/// to(device, dtype, non_blocking, copy, **keywords): the schema has a device by name only.
PyObject* toDeviceByName(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  static constexpr std::array<const char*, 4> kNames{"device", "dtype", "non_blocking", "copy"};
  const Py_ssize_t num_keywords = keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0;
  if (n > static_cast<Py_ssize_t>(kNames.size()) || n + num_keywords > kMaxArguments)
    raise(PyExc_TypeError, "to() takes from 0 to 4 positional arguments but " + std::to_string(n) + " were given");
  PyObject* values[kMaxArguments];
  Ref names = owned(PyTuple_New(n + num_keywords));
  for (Py_ssize_t i = 0; i < n; ++i) {
    values[i] = args[i];
    PyTuple_SET_ITEM(names.get(), i, check(PyUnicode_InternFromString(kNames[static_cast<size_t>(i)])));
  }
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    values[n + k] = args[n + k];
    PyTuple_SET_ITEM(names.get(), n + k, Py_NewRef(PyTuple_GET_ITEM(keyword_names, k)));
  }
  return callEntry(toEntry(), {self, values, 0, names.get()});
}

bool isDeviceForm(PyObject* o) {
  return o == Py_None || isDevice(o) || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    if (n == 0 && keyword_names == nullptr) return Py_NewRef(self);
    if (n > 0 && isDeviceForm(args[0])) return toDeviceByName(self, args, n, keyword_names);
    return callEntry(toEntry(), {self, args, n, keyword_names});
  });
}

void checkNoArguments(const char* name, Py_ssize_t n, PyObject* keyword_names) {
  if (n > 0)
    raise(PyExc_TypeError, std::string(name) + "() takes 0 positional arguments but " + std::to_string(n) +
                               (n == 1 ? " was given" : " were given"));
  const Py_ssize_t num_keywords = keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0;
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(keyword_names, k);
    if (PyUnicode_CompareWithASCIIString(keyword, "memory_format") != 0)
      raise(PyExc_TypeError, std::string(name) + "() got an unexpected keyword argument '" + utf8(keyword) + "'");
  }
}

struct Named {
  const char* name;
  ScalarType dtype;
};
constexpr Named kDouble_{"double", kDouble}, kFloat_{"float", kFloat}, kHalf_{"half", kHalf},
    kBFloat16_{"bfloat16", kBFloat16}, kInt_{"int", kInt}, kLong_{"long", kLong}, kShort_{"short", kShort},
    kChar_{"char", kChar}, kByte_{"byte", kByte}, kBool_{"bool", kBool};

/// x.float(*, memory_format=preserve_format)
template <const Named& what>
PyObject* toDType(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    checkNoArguments(what.name, n, keyword_names);
    PyObject* values[2] = {dtypeObject(what.dtype), keyword_names != nullptr ? args[0] : nullptr};
    return callEntry(toEntry(), {self, values, 1, keyword_names});
  });
}

PyObject* cpu(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    checkNoArguments("cpu", n, keyword_names);
    const Ref device = owned(wrapDevice(Device(kCPU)));
    PyObject* values[2] = {device.get(), keyword_names != nullptr ? args[0] : nullptr};
    return toDeviceByName(self, values, 1, keyword_names);
  });
}

/// cuda(device=None, non_blocking=False, *, memory_format=preserve_format)
PyObject* cuda(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<3> kParameters{"cuda", {"device", "non_blocking", "memory_format"}, 0, 2};
    const auto [device, non_blocking, memory_format] = kParameters.parse(args, n, keyword_names);
    const Ref current = owned(wrapDevice(Device(kCUDA)));
    static PyObject* const format_name = check(PyUnicode_InternFromString("memory_format"));
    const Ref names = owned(memory_format != nullptr ? PyTuple_Pack(1, format_name) : PyTuple_New(0));
    PyObject* values[4] = {device == nullptr || device == Py_None ? current.get() : device, Py_None,
                           non_blocking != nullptr ? non_blocking : Py_False, memory_format};
    return toDeviceByName(self, values, 3, names.get());
  });
}

}  // namespace

PyMethodDef tensor_conversion_methods[] = {
    {"to", fast(to), METH_FASTCALL | METH_KEYWORDS,
     "to(dtype, non_blocking=False, copy=False, *, memory_format=preserve_format) -> Tensor\n"
     "to(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=preserve_format) -> Tensor\n"
     "to(other, non_blocking=False, copy=False) -> Tensor\n\n"
     "The values with another dtype or device, or those of `other`; the tensor itself where it has them already and\n"
     "`copy` is False. Gradients flow back with the tensor's dtype."},
    {"cpu", fast(cpu), METH_FASTCALL | METH_KEYWORDS,
     "cpu(*, memory_format=preserve_format) -> Tensor\n\nThe values in the CPU's memory; itself where they are there."},
    {"cuda", fast(cuda), METH_FASTCALL | METH_KEYWORDS,
     "cuda(device=None, non_blocking=False, *, memory_format=preserve_format) -> Tensor\n\nThe values on a CUDA "
     "device."},
#define SHUNT_CONVERSION(name, place)                         \
  {name, fast(toDType<place>), METH_FASTCALL | METH_KEYWORDS, \
   name "(*, memory_format=preserve_format) -> Tensor\n\nThe values with another dtype; itself where it has it."}
    SHUNT_CONVERSION("double", kDouble_),
    SHUNT_CONVERSION("float", kFloat_),
    SHUNT_CONVERSION("half", kHalf_),
    SHUNT_CONVERSION("bfloat16", kBFloat16_),
    SHUNT_CONVERSION("int", kInt_),
    SHUNT_CONVERSION("long", kLong_),
    SHUNT_CONVERSION("short", kShort_),
    SHUNT_CONVERSION("char", kChar_),
    SHUNT_CONVERSION("byte", kByte_),
    SHUNT_CONVERSION("bool", kBool_),
#undef SHUNT_CONVERSION
    {},
};

}  // namespace shunt::python
