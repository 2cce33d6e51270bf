#include "python/src/autograd/node_object.h"

#include "python/src/autograd/function_node.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/saved_attributes.h"
#include "python/src/base/errors.h"
#include "python/src/call/entry.h"
#include "python/src/types/constants.h"
#include "python/src/types/size.h"
#include "python/src/types/tensor.h"

#include <shunt/autograd/accumulate_grad.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>

namespace shunt::python {

namespace {

struct NodeObject {
  PyObject_HEAD intrusive_ptr<Node> node;
  PyObject* metadata;  // a dict of the program's; null until asked for
  PyObject* weak_list;
};

NodeObject* asObject(PyObject* o) { return reinterpret_cast<NodeObject*>(o); }

// The last reference of Python's is gone while the graph still has the node: metadata stay with it.
bool livesOn(PyObject* self) {
  NodeObject* o = asObject(self);
  if (!o->node || o->node.use_count() == 1 || o->metadata == nullptr) return false;
  Py_SET_REFCNT(self, 1);
  o->node->set_owns_foreign_object(true);
  // Another thread may let go of the node meanwhile; then this ends it, and the object with it.
  const auto last = intrusive_ptr<Node>::reclaim(o->node.get());
  return true;
}

void dealloc(PyObject* self) {
  NodeObject* o = asObject(self);
  if (livesOn(self)) return;
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weak_list != nullptr) PyObject_ClearWeakRefs(self);
  if (o->node) o->node->set_foreign_object(nullptr);
  o->node.~intrusive_ptr<Node>();
  Py_XDECREF(o->metadata);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  // With others that have the node, what metadata refer to isn't this object's alone.
  if (!asObject(self)->node || asObject(self)->node.use_count() == 1) Py_VISIT(asObject(self)->metadata);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(asObject(self)->metadata);
  return 0;
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self); }

PyObject* getMetadata(PyObject* self, void*) {
  NodeObject* o = asObject(self);
  if (o->metadata == nullptr) o->metadata = PyDict_New();
  return Py_XNewRef(o->metadata);
}

PyObject* getVariable(PyObject* self, void*) {
  return guarded([&] { return wrap(static_cast<autograd::AccumulateGrad&>(*asObject(self)->node).variable); });
}

PyGetSetDef own_properties[] = {
    {"metadata", getMetadata, nullptr, "A dict for whatever a program notes about the node.", nullptr}, {}};
PyGetSetDef leaf_properties[] = {{"variable", getVariable, nullptr, "The leaf whose grad it adds to.", nullptr}, {}};

}  // namespace

std::string shownName(const Node& node) {
  std::string name = node.name();
  for (const NodeName* n = node_names; n->recorded != nullptr; ++n)
    if (name == n->recorded) return n->shown;
  return name;
}

size_t hiddenInputs(const Node& node) { return shownName(node) == node.name() ? 0 : 1; }

namespace {

/// The class of nodes of this name.
PyTypeObject* classOf(const Node& node) {
  static auto& classes = *new std::unordered_map<std::string, PyTypeObject*>();
  // Two classes may have one name.
  const std::string recorded = node.name(), name = shownName(node);
  PyTypeObject*& type = classes[recorded];
  if (type != nullptr) return type;
  const bool is_leaf = dynamic_cast<const autograd::AccumulateGrad*>(&node) != nullptr;
  const std::string doc =
      is_leaf ? "The end of a graph at a leaf." : "What a graph goes backward through: " + name + ".";
  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_doc, const_cast<char*>(doc.c_str())},
  };
  if (PyGetSetDef* getters = is_leaf ? leaf_properties : savedAttributesOf(node))
    slots.push_back({Py_tp_getset, getters});
  slots.push_back({0, nullptr});
  // Python keeps pointers to both. Without a module it warns; with one the name would show it.
  auto* const kept_name = new std::string("builtins." + name);
  PyType_Spec spec = {kept_name->c_str(), static_cast<int>(sizeof(NodeObject)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  const Ref bases = owned(PyTuple_Pack(1, &NodeBaseType));
  type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpecWithBases(&spec, bases.get())));
  type->tp_name = kept_name->c_str() + std::strlen("builtins.");
  return type;
}

// ---- what objects of both kinds have ----------------------------------------------------------------------------

PyObject* name(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::string text = shownName(*nodeOf(self));
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

PyObject* getNextFunctions(PyObject* self, void*) {
  return guarded([&] {
    const intrusive_ptr<Node> node = nodeOf(self);
    const auto n = static_cast<Py_ssize_t>(node->num_outputs()), hidden = static_cast<Py_ssize_t>(hiddenInputs(*node));
    Ref all = owned(PyTuple_New(n + hidden));
    for (Py_ssize_t i = n; i < n + hidden; ++i)
      PyTuple_SET_ITEM(all.get(), i, check(Py_BuildValue("(Oi)", Py_None, 0)));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const autograd::Edge& edge = node->next_edge(static_cast<size_t>(i));
      const Ref next = owned(wrapNode(edge.function));
      PyTuple_SET_ITEM(all.get(), i, check(Py_BuildValue("(Oi)", next.get(), static_cast<int>(edge.input_nr))));
    }
    return all.release();
  });
}

PyObject* getInputMetadata(PyObject* self, void*) {
  return guarded([&] {
    const intrusive_ptr<Node> node = nodeOf(self);
    Ref all = owned(PyTuple_New(node->num_inputs()));
    for (uint32_t i = 0; i < node->num_inputs(); ++i) {
      const autograd::InputMetadata& m = node->input_metadata(i);
      const Ref shape = owned(wrapSize(m.is_undefined() ? IntArrayRef() : m.sizes()));
      PyTuple_SET_ITEM(all.get(), i, check(PyTuple_Pack(2, shape.get(), dtypeObject(m.dtype()))));
    }
    return all.release();
  });
}

PyObject* sequenceNumber(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(nodeOf(self)->sequence_nr()); });
}
PyObject* getRequiresGrad(PyObject*, void*) { Py_RETURN_TRUE; }

}  // namespace

PyMethodDef node_methods[] = {
    {"name", name, METH_NOARGS, "name() -> str\n\nThe name of its class."},
    {"register_hook", registerNodeHook, METH_O,
     "register_hook(fn) -> RemovableHandle\n\nCalls fn(grad_inputs, grad_outputs) after each backward of the node: "
     "tuples of Tensors and None.\nWhat it returns, if not None, replaces grad_inputs."},
    {"register_prehook", registerNodePreHook, METH_O,
     "register_prehook(fn) -> RemovableHandle\n\nCalls fn(grad_outputs) before each backward of the node: a tuple of "
     "Tensors and None.\nWhat it returns, if not None, replaces it."},
    {"_sequence_nr", sequenceNumber, METH_NOARGS, "_sequence_nr() -> int\n\nLater nodes of a thread have higher ones."},
    {},
};
PyGetSetDef node_properties[] = {
    {"next_functions", getNextFunctions, nullptr,
     "Where its gradients go: pairs of a node, or None, and the number of that one's input.", nullptr},
    {"requires_grad", getRequiresGrad, nullptr, "True.", nullptr},
    {"_input_metadata", getInputMetadata, nullptr, "Pairs of shape and dtype, one for each output of its operator.",
     nullptr},
    {},
};

PyTypeObject NodeBaseType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._NodeBase",
    .tp_basicsize = sizeof(NodeObject),
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What nodes of graphs have in common.",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_weaklistoffset = offsetof(NodeObject, weak_list),
    .tp_methods = node_methods,
    .tp_getset = own_properties,
};

void addNodeType(PyObject* module) {
  checkStatus(PyType_Ready(&NodeBaseType));
  for (PyGetSetDef* p = node_properties; p->name != nullptr; ++p)
    checkStatus(PyDict_SetItemString(NodeBaseType.tp_dict, p->name, owned(PyDescr_NewGetSet(&NodeBaseType, p)).get()));
  PyType_Modified(&NodeBaseType);
  checkStatus(PyModule_AddObjectRef(module, "_NodeBase", reinterpret_cast<PyObject*>(&NodeBaseType)));
}

PyObject* wrapNode(const intrusive_ptr<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (auto* function = dynamic_cast<FunctionNode*>(node.get()); function != nullptr)
    return Py_NewRef(function->context());
  if (void* known = node->foreign_object(); known != nullptr) {
    auto* o = static_cast<PyObject*>(known);
    if (!node->owns_foreign_object()) return Py_NewRef(o);
    // Back on Python's side: the reference that was the node's is the caller's now, and the object's counts again.
    node->set_owns_foreign_object(false);
    new (&asObject(o)->node) intrusive_ptr<Node>(node);
    return o;
  }
  PyTypeObject* type = classOf(*node);
  PyObject* o = check(type->tp_alloc(type, 0));
  new (&asObject(o)->node) intrusive_ptr<Node>(node);
  asObject(o)->metadata = asObject(o)->weak_list = nullptr;
  node->set_foreign_object(o);
  return o;
}

bool isNode(PyObject* object) {
  return PyObject_TypeCheck(object, &NodeBaseType) || PyObject_TypeCheck(object, &FunctionBaseType);
}

intrusive_ptr<Node> nodeOf(PyObject* object) {
  if (PyObject_TypeCheck(object, &NodeBaseType)) return asObject(object)->node;
  if (!PyObject_TypeCheck(object, &FunctionBaseType))
    raise(PyExc_TypeError, "expected a Node, got " + typeNameOf(object));
  return functionNodeOf(object);
}

void releaseNodeObject(PyObject* object) {
  new (&asObject(object)->node) intrusive_ptr<Node>();  // not ended: what it refers to is being destroyed
  drop(object);
}

}  // namespace shunt::python
