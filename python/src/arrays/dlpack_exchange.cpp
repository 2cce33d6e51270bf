#include "python/src/arrays/dlpack_exchange.h"

#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/ops.h>

#include <memory>

namespace shunt::python {

namespace {

/// An exported tensor: the older struct's, with a version in front.
struct Versioned {
  DLManagedTensorVersioned managed;
  dlpack::DLManagedTensor* older;
};

void deleteVersioned(DLManagedTensorVersioned* managed) {
  auto* v = static_cast<Versioned*>(managed->manager_ctx);
  v->older->deleter(v->older);
  delete v;
}

/// The other way: what fromDLPack() takes, in front of a struct with a version.
struct Older {
  dlpack::DLManagedTensor managed;
  DLManagedTensorVersioned* versioned;
};

void deleteOlder(dlpack::DLManagedTensor* managed) {
  auto* o = static_cast<Older*>(managed->manager_ctx);
  if (o->versioned->deleter != nullptr) o->versioned->deleter(o->versioned);
  delete o;
}

int allocate(dlpack::DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
             void (*set_error)(void*, const char*, const char*)) {
  try {
    // The dtype and the shape are read as those of a tensor without strides.
    dlpack::DLManagedTensor like{*prototype, nullptr, nullptr};
    alignas(8) std::byte nothing[8];
    like.dl_tensor.data = nothing;
    like.dl_tensor.byte_offset = 0;
    like.dl_tensor.strides = nullptr;
    const Tensor shown = fromDLPack(&like);
    *out = exportVersioned(empty(shown.sizes(), TensorOptions(shown.scalar_type())), 0);
    return 0;
  } catch (const PythonError& e) {
    set_error(error_context, "BufferError", e.what());
  } catch (const std::exception& e) {
    set_error(error_context, "RuntimeError", e.what());
  }
  return -1;
}

int fromObject(void* object, DLManagedTensorVersioned** out) {
  return guardedStatus([&] {
    auto* o = static_cast<PyObject*>(object);
    if (!isTensor(o)) raise(PyExc_TypeError, "expected a shunt.Tensor, got " + typeNameOf(o));
    *out = exportVersioned(tensorOf(o), 0);
    return 0;
  });
}

int toObject(DLManagedTensorVersioned* tensor, void** out) {
  return guardedStatus([&] {
    *out = check(wrap(importVersioned(tensor)));
    return 0;
  });
}

/// Good as long as the object is, and its sizes don't change.
int viewOfObject(void* object, dlpack::DLTensor* out) {
  return guardedStatus([&] {
    auto* o = static_cast<PyObject*>(object);
    if (!isTensor(o)) raise(PyExc_TypeError, "expected a shunt.Tensor, got " + typeNameOf(o));
    const Tensor& t = tensorOf(o);
    dlpack::DLManagedTensor* exported = exportTensor(t);
    *out = exported->dl_tensor;
    exported->deleter(exported);
    out->shape = const_cast<int64_t*>(t.sizes().data());
    out->strides = const_cast<int64_t*>(t.strides().data());
    return 0;
  });
}

int currentStream(int32_t, int32_t, void** out) {
  *out = nullptr;  // the CPU has none
  return 0;
}

}  // namespace

DLPackExchangeApi exchange_api{.version = kDLPackVersion,
                               .previous = nullptr,
                               .allocate = allocate,
                               .fromObject = fromObject,
                               .toObject = toObject,
                               .viewOfObject = viewOfObject,
                               .currentStream = currentStream};

dlpack::DLManagedTensor* exportTensor(const Tensor& t) {
  try {
    return toDLPack(t);
  } catch (const Error& e) {
    raise(PyExc_BufferError, e.what());
  }
}

DLManagedTensorVersioned* exportVersioned(const Tensor& t, uint64_t flags) {
  auto v = std::make_unique<Versioned>();
  v->older = exportTensor(t);
  v->managed = {kDLPackVersion, v.get(), deleteVersioned, flags, v->older->dl_tensor};
  return &v.release()->managed;
}

Tensor importTensor(dlpack::DLManagedTensor* managed) { return fromDLPack(managed); }

Tensor importVersioned(DLManagedTensorVersioned* managed) {
  if (managed->version.major != kDLPackVersion.major)
    raise(PyExc_BufferError, "from_dlpack(): the tensor is of DLPack " + std::to_string(managed->version.major) + "." +
                                 std::to_string(managed->version.minor) + ", and versions 1.x are known here");
  auto older = std::make_unique<Older>();
  older->managed = {managed->dl_tensor, older.get(), deleteOlder};
  older->versioned = managed;
  Tensor t = fromDLPack(&older->managed);
  older.release();
  return t;
}

const DLPackExchangeApi* exchangeApiOf(PyTypeObject* type) {
  static PyObject* const name = check(PyUnicode_InternFromString("__dlpack_c_exchange_api__"));
  const Ref capsule = Ref::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), kExchangeApiName)) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* api = static_cast<const DLPackExchangeApi*>(PyCapsule_GetPointer(capsule.get(), kExchangeApiName));
  while (api != nullptr && api->version.major > kDLPackVersion.major) api = api->previous;
  return api != nullptr && api->version.major == kDLPackVersion.major ? api : nullptr;
}

}  // namespace shunt::python
