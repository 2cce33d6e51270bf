// Hooks of tensors and nodes in Python, and the handles that remove them.
#pragma once

#include "python/src/base/python.h"
#include "python/src/base/shared_object.h"

#include <shunt/autograd/node.h>

namespace shunt::python {

/// What C++ has of a tensor's hook, so that traverse.h knows the function again.
struct TensorHook {
  SharedObject function;
  Tensor operator()(const Tensor& grad) const;
};
/// A hook of a leaf, after its grad has been added to.
struct AccumulateHook {
  SharedObject function;
  void operator()(const Tensor& leaf) const;
};
struct NodePreHook {
  SharedObject function;
  autograd::variable_list operator()(const autograd::variable_list& grads) const;
};
struct NodePostHook {
  SharedObject function;
  size_t hidden_inputs;  // node_object.h: Nones at the end of grad_inputs
  autograd::variable_list operator()(const autograd::variable_list& outputs,
                                     const autograd::variable_list& inputs) const;
};

// Methods of tensors.
PyObject* registerTensorHook(PyObject* self, PyObject* hook);
PyObject* registerAccumulateHook(PyObject* self, PyObject* hook);
// Methods of nodes.
PyObject* registerNodeHook(PyObject* self, PyObject* hook);
PyObject* registerNodePreHook(PyObject* self, PyObject* hook);

/// Makes the handles' type ready and adds it to the module.
void addHandleType(PyObject* module);

}  // namespace shunt::python
