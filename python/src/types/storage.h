// shunt.UntypedStorage: the bytes that tensors share. There is one object for a storage while anybody holds it, so `is`
// says whether two tensors share memory, also to pickle.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/storage.h>

namespace shunt::python {

/// Makes the type and adds it to the module.
void addStorage(PyObject* module);
/// A new reference to the storage's object.
PyObject* wrapStorage(const Storage& storage);

extern PyMethodDef storage_functions[];       // _tensor_over_storage
extern PyMethodDef tensor_storage_methods[];  // untyped_storage

}  // namespace shunt::python
