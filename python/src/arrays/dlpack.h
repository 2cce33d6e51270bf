// DLPack for Python: capsules, of both kinds, and the table of C functions by which libraries pass tensors to each
// other without capsules (__dlpack_c_exchange_api__).
//
// A capsule that nobody consumed frees its tensor when it goes; a consumer renames it and calls the deleter later, on
// any thread.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef dlpack_functions[];  // _to_dlpack, _from_dlpack_object, ...
/// Adds the attribute __dlpack_c_exchange_api__ to the type Tensor.
void addExchangeApi(PyTypeObject* tensor_type);

}  // namespace shunt::python
