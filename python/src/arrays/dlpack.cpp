#include "python/src/arrays/dlpack.h"

#include "python/src/arrays/arguments.h"
#include "python/src/arrays/dlpack_exchange.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>

namespace shunt::python {

namespace {

constexpr const char *kOlder = "dltensor", *kVersioned = "dltensor_versioned";
constexpr const char *kUsedOlder = "used_dltensor", *kUsedVersioned = "used_dltensor_versioned";

template <class T>
void freeUnused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed, and renamed
  auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter != nullptr) managed->deleter(managed);
}
void freeOlder(PyObject* capsule) { freeUnused<dlpack::DLManagedTensor>(capsule, kOlder); }
void freeVersioned(PyObject* capsule) { freeUnused<DLManagedTensorVersioned>(capsule, kVersioned); }

/// _to_dlpack(tensor, versioned, is_copied)
PyObject* toCapsule(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 3 || !isTensor(args[0])) raise(PyExc_TypeError, "_to_dlpack(tensor, versioned, is_copied)");
    const Tensor& t = tensorOf(args[0]);
    if (args[1] != Py_True) {
      dlpack::DLManagedTensor* managed = exportTensor(t);
      PyObject* capsule = PyCapsule_New(managed, kOlder, freeOlder);
      if (capsule == nullptr) managed->deleter(managed);
      return capsule;
    }
    DLManagedTensorVersioned* managed = exportVersioned(t, args[2] == Py_True ? kDLFlagIsCopied : 0);
    PyObject* capsule = PyCapsule_New(managed, kVersioned, freeVersioned);
    if (capsule == nullptr) managed->deleter(managed);
    return capsule;
  });
}

template <class T>
PyObject* consume(PyObject* capsule, const char* name, const char* used, Tensor (*import)(T*)) {
  auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  Tensor t = import(managed);
  // The memory is the tensor's now: nobody else may have it.
  checkStatus(PyCapsule_SetName(capsule, used));
  checkStatus(PyCapsule_SetDestructor(capsule, nullptr));
  return wrap(std::move(t));
}

/// _from_dlpack_capsule(capsule)
PyObject* fromCapsule(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, kVersioned)) return consume(capsule, kVersioned, kUsedVersioned, importVersioned);
    if (PyCapsule_IsValid(capsule, kOlder)) return consume(capsule, kOlder, kUsedOlder, importTensor);
    raise(
        PyExc_RuntimeError,
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
        "have already constructed a tensor from it once.");
  });
}

/// _from_dlpack_object(object): by the functions of its class; None where it has none.
PyObject* fromObjectByApi(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const DLPackExchangeApi* api = exchangeApiOf(Py_TYPE(object));
    if (api == nullptr) Py_RETURN_NONE;
    DLManagedTensorVersioned* managed = nullptr;
    checkStatus(api->fromObject(object, &managed));
    try {
      return wrap(importVersioned(managed));
    } catch (...) {
      if (managed->deleter != nullptr) managed->deleter(managed);
      throw;
    }
  });
}

/// _to_dlpack_class(tensor, cls): an object of another library's class, by its functions; None where it has none.
PyObject* toObjectByApi(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2 || !isTensor(args[0]) || !PyType_Check(args[1])) raise(PyExc_TypeError, "_to_dlpack_class(tensor, cls)");
    const DLPackExchangeApi* api = exchangeApiOf(reinterpret_cast<PyTypeObject*>(args[1]));
    if (api == nullptr) Py_RETURN_NONE;
    DLManagedTensorVersioned* managed = exportVersioned(tensorOf(args[0]), 0);
    void* object = nullptr;
    if (api->toObject(managed, &object) != 0) {
      if (managed->deleter != nullptr) managed->deleter(managed);
      throw PythonError();
    }
    return static_cast<PyObject*>(object);
  });
}

}  // namespace

PyMethodDef dlpack_functions[] = {
    {"_to_dlpack", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(toCapsule)), METH_FASTCALL, nullptr},
    {"_from_dlpack_capsule", fromCapsule, METH_O, nullptr},
    {"_from_dlpack_object", fromObjectByApi, METH_O, nullptr},
    {"_to_dlpack_class", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(toObjectByApi)), METH_FASTCALL, nullptr},
    {},
};

void addExchangeApi(PyTypeObject* tensor_type) {
  const Ref capsule = owned(PyCapsule_New(&exchange_api, kExchangeApiName, nullptr));
  checkStatus(PyDict_SetItemString(tensor_type->tp_dict, "__dlpack_c_exchange_api__", capsule.get()));
  PyType_Modified(tensor_type);
}

}  // namespace shunt::python
