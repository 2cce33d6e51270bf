// shunt.autograd.graph.Node: the Python object of a node of the graph, as Tensor.grad_fn gives it.
//
// A node has at most one object, so `y.grad_fn is y.grad_fn` holds. Its class is named after the node (AddBackward0)
// and made at the first of that name. The object owns a reference to the node; the node's slot foreign_object() knows
// the object. An object with metadata that loses its last reference in Python changes sides, as a tensor's does: Note
// [One object for one tensor] in types/tensor.h. The node of a custom function in Python has no such object: there its
// context is what Python sees (function_node.h).
#pragma once

#include "python/src/base/python.h"

#include <shunt/autograd/node.h>

namespace shunt::python {

extern PyTypeObject NodeBaseType;

/// Makes the type ready and adds it to the module.
void addNodeType(PyObject* module);

/// A new reference to the node's object; None for none.
PyObject* wrapNode(const intrusive_ptr<Node>& node);
/// The node of an object of either kind. Throws TypeError for others, RuntimeError where the node is gone.
intrusive_ptr<Node> nodeOf(PyObject* object);
bool isNode(PyObject* object);

/// Lets go of an object that its node owns: for set_foreign_objects.
void releaseNodeObject(PyObject* object);

// What objects of both kinds have.
extern PyMethodDef node_methods[];
extern PyGetSetDef node_properties[];
/// The name that Python shows: PyTorch's, where the library records another form of the operator.
std::string shownName(const Node& node);
/// The number of inputs that PyTorch's node has besides: 1 where a number is an argument of the recorded form, and a
/// tensor without gradient of PyTorch's.
size_t hiddenInputs(const Node& node);

}  // namespace shunt::python
