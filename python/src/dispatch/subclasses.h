// Tensors whose objects are of other classes than Tensor: classes with a __torch_dispatch__, and fake tensors.
//
// Note [Classes with __torch_dispatch__]
// A tensor of such a class is one of a KernelClass (shunt/interpose/kernel_class.h), which knows the class and the
// attributes of the object that the program made. What autograd makes of the tensor (detach(), a saved result) gets an
// object of the class with the same attributes when Python sees it.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/op_state.h>
#include <shunt/tensor/tensor.h>

namespace shunt::python {

/// Keys of tensors whose objects are not of class Tensor.
inline constexpr DispatchKeySet kClassKeys =
    DispatchKeySet::of(Functionality::Fake) | DispatchKeySet::of(Functionality::PythonKernel);
/// A new object for a tensor that has one of these keys and no object yet.
PyObject* wrapOfClass(Tensor tensor);
/// A new object of a class derived from Tensor for the same elements, in the same graph unless the class has a
/// __torch_dispatch__.
PyObject* aliasOfClass(PyTypeObject* type, const Tensor& tensor);

/// Tensor.data of a tensor with such a key: a plain one with the data of one that has any.
PyObject* dataOfClass(const Tensor& tensor);

/// The classes with a handler of the tensors among the arguments, a tuple; nothing where there is none.
Ref subclassTypes(const IValue* arguments, size_t n);
/// Asks the classes of the arguments on top of the stack. False where there is none.
bool handleBySubclasses(const OperatorHandle& op, Stack* stack);

void addSubclasses(PyObject* module);

}  // namespace shunt::python
