#include "python/src/types/settings.h"

#include "python/src/arrays/arguments.h"
#include "python/src/base/errors.h"
#include "python/src/types/constants.h"

#include <shunt/core/parallel.h>
#include <shunt/core/system_info.h>
#include <shunt/shunt.h>

namespace shunt::python {

namespace {

PyObject* getDefaultDType(PyObject*, PyObject*) {
  return guarded([] { return Py_NewRef(dtypeObject(get_default_dtype())); });
}

PyObject* setDefaultDType(PyObject*, PyObject* dtype) {
  return guarded([&] {
    if (!isDType(dtype))
      raise(PyExc_TypeError, "invalid dtype object: only floating-point types are supported as the default type");
    if (!isFloatingType(dtypeOf(dtype)))
      raise(PyExc_TypeError, "only floating-point types are supported as the default type");
    set_default_dtype(dtypeOf(dtype));
    return Py_NewRef(Py_None);
  });
}

ScalarType dtypeArgument(const char* function, const char* name, PyObject* o) {
  if (!isDType(o))
    raise(PyExc_TypeError,
          std::string(function) + "(): argument '" + name + "' must be shunt.dtype, not " + typeNameOf(o));
  return dtypeOf(o);
}

PyObject* promote(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<2> kParameters{"promote_types", {"type1", "type2"}, 2, 2};
    const auto [a, b] = kParameters.parse(args, n, keyword_names);
    return Py_NewRef(dtypeObject(
        promoteTypes(dtypeArgument("promote_types", "type1", a), dtypeArgument("promote_types", "type2", b))));
  });
}

PyObject* mayCast(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<2> kParameters{"can_cast", {"from_", "to"}, 2, 2};
    const auto [from, to] = kParameters.parse(args, n, keyword_names);
    return PyBool_FromLong(canCast(dtypeArgument("can_cast", "from_", from), dtypeArgument("can_cast", "to", to)));
  });
}

PyObject* getNumThreads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_threads()); }

PyObject* setNumThreads(PyObject*, PyObject* number) {
  return guarded([&] {
    if (!PyLong_Check(number) || PyBool_Check(number))
      raise(PyExc_RuntimeError, "set_num_threads expects an int, but got " + typeNameOf(number));
    const long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (n <= 0 || n > 1 << 20) raise(PyExc_RuntimeError, "set_num_threads expects a positive integer");
    set_num_threads(static_cast<int>(n));
    return Py_NewRef(Py_None);
  });
}

PyObject* systemInfo(PyObject*, PyObject*) {
  return guarded([&] {
    std::string text;
    {
      const WithoutGil unlocked;  // it waits for a compile, which may log a warning, and so wait for the lock
      text = system_info().text();
    }
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  });
}

}  // namespace

PyMethodDef setting_functions[] = {
    {"get_default_dtype", getDefaultDType, METH_NOARGS,
     "get_default_dtype() -> dtype\n\nThe dtype of new floating-point tensors whose dtype isn't named."},
    {"set_default_dtype", setDefaultDType, METH_O,
     "set_default_dtype(dtype)\n\nSets the dtype of new floating-point tensors, for the whole process. TypeError for "
     "others\n"
     "than floating-point dtypes."},
    {"promote_types", fast(promote), METH_FASTCALL | METH_KEYWORDS,
     "promote_types(type1, type2) -> dtype\n\nThe smallest dtype that both can be converted to without a change of "
     "kind."},
    {"can_cast", fast(mayCast), METH_FASTCALL | METH_KEYWORDS,
     "can_cast(from_, to) -> bool\n\nWhether results of one dtype may be written to a tensor of the other."},
    {"get_num_threads", getNumThreads, METH_NOARGS, "get_num_threads() -> int\n\nThreads that an operator may use."},
    {"set_num_threads", setNumThreads, METH_O,
     "set_num_threads(n)\n\nSets how many threads an operator may use. RuntimeError unless n is a positive int."},
    {"_system_info", systemInfo, METH_NOARGS, nullptr},
    {},
};

}  // namespace shunt::python
