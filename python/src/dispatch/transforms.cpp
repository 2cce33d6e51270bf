// Fake tensors, functionalize and autocast, as functions of shunt._C. Python's classes are made of them.
#include "python/src/dispatch/transforms.h"

#include "python/src/base/errors.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"

#include <shunt/transforms/autocast.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

namespace shunt::python {

namespace {

/// An object of C++ in a capsule named after what it is.
template <class T>
PyObject* capsuleOf(std::unique_ptr<T> object, const char* name, PyCapsule_Destructor destroy) {
  PyObject* capsule = check(PyCapsule_New(object.get(), name, destroy));
  object.release();
  return capsule;
}
template <class T>
T& inCapsule(PyObject* capsule, const char* name) {
  auto* object = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (object == nullptr) throw PythonError();
  return *object;
}

const Tensor& tensorArgument(PyObject* o, const char* function) {
  if (!isTensor(o)) raise(PyExc_TypeError, std::string(function) + ": expected a Tensor, got " + typeNameOf(o));
  return tensorOf(o);
}

// ---- fake tensors ------------------------------------------------------------------------------------------------

constexpr const char* kConverter = "shunt.FakeTensorConverter";
void destroyConverter(PyObject* capsule) {
  delete static_cast<FakeTensorConverter*>(PyCapsule_GetPointer(capsule, kConverter));
}
PyObject* newConverter(PyObject*, PyObject*) {
  return guarded([] { return capsuleOf(std::make_unique<FakeTensorConverter>(), kConverter, destroyConverter); });
}
PyObject* makeFake(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *converter = nullptr, *tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &converter, &tensor)) return nullptr;
    return wrap(
        inCapsule<FakeTensorConverter>(converter, kConverter).from_tensor(tensorArgument(tensor, "from_tensor()")));
  });
}
PyObject* isFake(PyObject*, PyObject* o) {
  return guarded([&] { return PyBool_FromLong(isTensor(o) && is_fake(tensorOf(o))); });
}

// ---- functionalize -----------------------------------------------------------------------------------------------

constexpr const char* kCall = "shunt.FunctionalizeCall";
using FunctionalizeCall = shunt::detail::FunctionalizeCall;
void destroyCall(PyObject* capsule) { delete static_cast<FunctionalizeCall*>(PyCapsule_GetPointer(capsule, kCall)); }

PyObject* newFunctionalizeCall(PyObject*, PyObject*) {
  return guarded([] { return capsuleOf(std::make_unique<FunctionalizeCall>(), kCall, destroyCall); });
}
PyObject* wrapFunctional(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *call = nullptr, *tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &call, &tensor)) return nullptr;
    return wrap(inCapsule<FunctionalizeCall>(call, kCall).wrap(tensorArgument(tensor, "functionalize()")));
  });
}
PyObject* unwrapFunctional(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *call = nullptr, *tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &call, &tensor)) return nullptr;
    const Tensor& t = tensorArgument(tensor, "functionalize()");
    if (!is_functional(t)) return Py_NewRef(tensor);
    return wrap(inCapsule<FunctionalizeCall>(call, kCall).unwrap(t));
  });
}
PyObject* writeBack(PyObject*, PyObject* call) {
  return guarded([&] {
    inCapsule<FunctionalizeCall>(call, kCall).writeBack();
    return Py_NewRef(Py_None);
  });
}
PyObject* toFunctional(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(to_functional(tensorArgument(t, "_to_functional_tensor()"))); });
}
PyObject* fromFunctional(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(from_functional(tensorArgument(t, "_from_functional_tensor()"))); });
}
PyObject* isFunctional(PyObject*, PyObject* o) {
  return guarded([&] { return PyBool_FromLong(isTensor(o) && is_functional(tensorOf(o))); });
}

// ---- autocast ----------------------------------------------------------------------------------------------------

constexpr const char* kAutocast = "shunt.AutocastGuard";

DeviceType deviceType(PyObject* name) {
  if (!PyUnicode_Check(name)) raise(PyExc_ValueError, "Expected `device_type` of type `str`, got: " + typeNameOf(name));
  return Device(utf8(name)).type();
}

PyObject* enterAutocast(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *type = nullptr, *dtype = nullptr;
    int enabled = 1, cache = 1;
    if (!PyArg_ParseTuple(arguments, "OOpp", &type, &dtype, &enabled, &cache)) return nullptr;
    if (!isDType(dtype)) raise(PyExc_TypeError, "autocast: expected a dtype, got " + typeNameOf(dtype));
    auto guard = std::make_unique<AutocastGuard>(deviceType(type), dtypeOf(dtype), enabled != 0, cache != 0);
    return capsuleOf(std::move(guard), kAutocast, nullptr);
  });
}
PyObject* exitAutocast(PyObject*, PyObject* capsule) {
  return guarded([&] {
    delete &inCapsule<AutocastGuard>(capsule, kAutocast);
    checkStatus(PyCapsule_SetName(capsule, "ended"));
    return Py_NewRef(Py_None);
  });
}
PyObject* isAutocastEnabled(PyObject*, PyObject* type) {
  return guarded([&] { return PyBool_FromLong(autocast::is_enabled(deviceType(type))); });
}
PyObject* autocastDType(PyObject*, PyObject* type) {
  return guarded([&] {
    const DeviceType t = deviceType(type);
    const ScalarType dtype = autocast::is_enabled(t) ? autocast::lower_precision_dtype(t)
                             : t == kCPU             ? kBFloat16
                                                     : kHalf;
    return Py_NewRef(dtypeObject(dtype));
  });
}
PyObject* isCacheEnabled(PyObject*, PyObject*) {
  return PyBool_FromLong((shunt::detail::tls_state.mode & shunt::detail::kModeCastCache) != 0);
}
PyObject* clearCache(PyObject*, PyObject*) {
  return guarded([] {
    autocast::clear_cache();
    return Py_NewRef(Py_None);
  });
}
PyObject* cacheStats(PyObject*, PyObject*) {
  return guarded([] {
    const autocast::CacheStats s = autocast::cache_stats();
    return Py_BuildValue("{s:n,s:K,s:K}", "entries", static_cast<Py_ssize_t>(s.entries), "hits",
                         static_cast<unsigned long long>(s.hits), "misses", static_cast<unsigned long long>(s.misses));
  });
}

PyMethodDef functions[] = {
    {"_fake_converter", newConverter, METH_NOARGS, nullptr},
    {"_make_fake", makeFake, METH_VARARGS, nullptr},
    {"_is_fake", isFake, METH_O, nullptr},
    {"_functionalize_call", newFunctionalizeCall, METH_NOARGS, nullptr},
    {"_functionalize_wrap", wrapFunctional, METH_VARARGS, nullptr},
    {"_functionalize_unwrap", unwrapFunctional, METH_VARARGS, nullptr},
    {"_functionalize_write_back", writeBack, METH_O, nullptr},
    {"_to_functional_tensor", toFunctional, METH_O,
     "_to_functional_tensor(t) -> Tensor\n\nA functional tensor with t as its value: in-place operators on it compute "
     "a new "
     "one, and t stays as it is."},
    {"_from_functional_tensor", fromFunctional, METH_O,
     "_from_functional_tensor(t) -> Tensor\n\nThe value that a functional tensor has now. A RuntimeError for others."},
    {"_is_functional_tensor", isFunctional, METH_O, "_is_functional_tensor(t) -> bool"},
    {"_enter_autocast", enterAutocast, METH_VARARGS, nullptr},
    {"_exit_autocast", exitAutocast, METH_O, nullptr},
    {"_is_autocast_enabled", isAutocastEnabled, METH_O, nullptr},
    {"_autocast_dtype", autocastDType, METH_O, nullptr},
    {"is_autocast_cache_enabled", isCacheEnabled, METH_NOARGS,
     "is_autocast_cache_enabled() -> bool\n\nWhether casts of parameters are kept for the next operator."},
    {"clear_autocast_cache", clearCache, METH_NOARGS, "clear_autocast_cache()\n\nForgets the casts that are kept."},
    {"_autocast_cache_stats", cacheStats, METH_NOARGS, nullptr},
    {},
};

}  // namespace

void addTransforms(PyObject* module) { checkStatus(PyModule_AddFunctions(module, functions)); }

}  // namespace shunt::python
