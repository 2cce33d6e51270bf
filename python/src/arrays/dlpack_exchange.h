// Tensors as DLPack's structs with a version, and back.
#pragma once

#include "python/src/arrays/dlpack_abi.h"
#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

namespace shunt::python {

/// The tensor's memory. BufferError for tensors that can't be shared: on other devices, wrappers, or requiring grad.
dlpack::DLManagedTensor* exportTensor(const Tensor& t);
DLManagedTensorVersioned* exportVersioned(const Tensor& t, uint64_t flags);
/// A tensor over the struct's memory, which it takes over; where it throws, the struct still is the caller's.
Tensor importTensor(dlpack::DLManagedTensor* managed);
Tensor importVersioned(DLManagedTensorVersioned* managed);

/// The table of Shunt's own functions; constant.
extern DLPackExchangeApi exchange_api;

/// The table of the object's class, if it has one that can be used here: null else.
const DLPackExchangeApi* exchangeApiOf(PyTypeObject* type);

inline constexpr const char* kExchangeApiName = "dlpack_exchange_api";

}  // namespace shunt::python
