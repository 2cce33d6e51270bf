// Functions that make tensors from what isn't one: tensor, as_tensor, from_numpy, frombuffer.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

#include <optional>

namespace shunt::python {

extern PyMethodDef factory_functions[];
/// Methods of Tensor: new_tensor.
extern PyMethodDef tensor_factory_methods[];

/// What the values of a new tensor are to be.
struct NewTensor {
  std::optional<ScalarType> dtype;
  std::optional<Device> device;
};

/// A copy of the values of `data`: a tensor, an array of NumPy's, or what tensorOfData() takes.
Tensor copyOfData(PyObject* data, const NewTensor& wanted);
/// The same without a copy where `data` is a tensor or an array and has that dtype and device.
Tensor asTensor(PyObject* data, const NewTensor& wanted);

}  // namespace shunt::python
