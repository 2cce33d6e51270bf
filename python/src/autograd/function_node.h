// autograd.Function: a forward and a backward that a program writes in Python.
//
// Two objects for each call of apply(): the node, which the graph owns, and its context (`ctx`, also `y.grad_fn`), an
// object of a class <Name>Backward that the program's attributes are on. The node owns the context; the context knows
// the node weakly, so that what a program keeps on it makes no circle that the collector can't see (traverse.h). After
// the graph has gone a context that somebody kept has attributes, but no saved tensors any more.
#pragma once

#include "python/src/base/python.h"

#include <shunt/autograd/custom_function.h>

namespace shunt::python {

/// The base of contexts, and of Function, for the methods that both show: shunt._C._FunctionBase.
extern PyTypeObject FunctionBaseType;

struct FunctionObject {
  PyObject_HEAD weak_intrusive_ptr<Node> node;
  // What forward asked for, and what it was given; each null or owned.
  PyObject *needs_input_grad, *to_save, *non_differentiable, *dirty_tensors, *metadata;
  bool materialize_grads;
};

struct FunctionNode final : public autograd::CustomNode {
  using variable_list = autograd::variable_list;

  /// Takes a reference to the context.
  explicit FunctionNode(PyObject* context) : context_object_(Py_NewRef(context)) {}
  ~FunctionNode() override { dropContext(); }
  /// Borrowed. With the lock.
  PyObject* context() const { return context_object_; }
  std::string name() const override;
  variable_list apply(variable_list&& grads) override;

  // Around forward, with the lock; see CustomNode.
  void prepareFor(const variable_list& inputs, std::vector<bool> is_tensor, bool record);
  void finishWith(const variable_list& inputs, variable_list& outputs, bool record);
  variable_list savedTensors() const { return context_.get_saved_variables(); }

 protected:
  void release_resources() override;
  variable_list callBackward(variable_list grads) override { return grads; }  // apply() doesn't ask

 private:
  void dropContext() noexcept;
  variable_list gradientsOf(PyObject* results) const;
  PyObject* context_object_;
};

/// Of an object of FunctionBaseType. Throws RuntimeError where its graph is gone, or it is no context.
intrusive_ptr<Node> functionNodeOf(PyObject* object);

void addFunctionType(PyObject* module);

}  // namespace shunt::python
