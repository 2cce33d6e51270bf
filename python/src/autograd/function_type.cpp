// The type of contexts: what forward and backward of a custom function find on `ctx`.
#include "python/src/autograd/function_names.h"
#include "python/src/autograd/function_node.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/call/results.h"
#include "python/src/types/tensor.h"

#include <structmember.h>

#include <cstddef>

namespace shunt::python {

namespace {

FunctionObject* asObject(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

int clear(PyObject* self) {
  FunctionObject* o = asObject(self);
  Py_CLEAR(o->needs_input_grad);
  Py_CLEAR(o->to_save);
  Py_CLEAR(o->non_differentiable);
  Py_CLEAR(o->dirty_tensors);
  Py_CLEAR(o->metadata);
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const FunctionObject* o = asObject(self);
  Py_VISIT(o->needs_input_grad);
  Py_VISIT(o->to_save);
  Py_VISIT(o->non_differentiable);
  Py_VISIT(o->dirty_tensors);
  Py_VISIT(o->metadata);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  asObject(self)->node.~weak_intrusive_ptr<Node>();
  Py_TYPE(self)->tp_free(self);
}

/// Keeps the arguments as a tuple. Says what it can't take at once, where the program is.
PyObject* keep(PyObject*& place, PyObject* const* args, Py_ssize_t n, const char* who, PyObject* error) {
  return guarded([&] {
    for (Py_ssize_t i = 0; i < n; ++i)
      if (args[i] != Py_None && !isTensor(args[i]))
        raise(error, std::string(who) + " variables, but argument " + std::to_string(i) + " is of type " +
                         typeNameOf(args[i]));
    const Ref tuple = owned(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
    Py_XSETREF(place, Py_NewRef(tuple.get()));
    return Py_NewRef(Py_None);
  });
}

PyObject* saveForBackward(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return keep(asObject(self)->to_save, args, n, "save_for_backward can only save", PyExc_TypeError);
}
PyObject* markDirty(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return keep(asObject(self)->dirty_tensors, args, n, "mark_dirty can only accept", PyExc_RuntimeError);
}
PyObject* markNonDifferentiable(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return keep(asObject(self)->non_differentiable, args, n, "mark_non_differentiable can only accept",
              PyExc_RuntimeError);
}
PyObject* setMaterializeGrads(PyObject* self, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  asObject(self)->materialize_grads = value == 1;
  Py_RETURN_NONE;
}
PyObject* saveForForward(PyObject*, PyObject* const*, Py_ssize_t) { Py_RETURN_NONE; }

PyObject* getSavedTensors(PyObject* self, void*) {
  return guarded([&] {
    const intrusive_ptr<Node> node = functionNodeOf(self);
    autograd::variable_list saved = static_cast<FunctionNode&>(*node).savedTensors();
    const Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(saved.size())));
    for (size_t i = 0; i < saved.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(saved[i]))));
    return Py_NewRef(tuple.get());
  });
}

PyObject* getMetadata(PyObject* self, void*) {
  FunctionObject* o = asObject(self);
  if (o->metadata == nullptr) o->metadata = PyDict_New();
  return Py_XNewRef(o->metadata);
}

template <class F>
PyCFunction asFunction(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef methods[] = {
    {"apply", asFunction(applyFunction), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "apply(*args, **kwargs) -> what forward returns\n\nCalls forward without recording what it does, and records the "
     "function as one step of the graph."},
    {"save_for_backward", asFunction(saveForBackward), METH_FASTCALL,
     "save_for_backward(*tensors)\n\nKeeps Tensors, arguments or results of forward, or None, for backward, which "
     "finds "
     "them in saved_tensors.\nOnce in forward. A change of them in place is an error in backward then."},
    {"save_for_forward", asFunction(saveForForward), METH_FASTCALL,
     "save_for_forward(*tensors)\n\nFor jvp, which Shunt doesn't call: does nothing."},
    {"mark_dirty", asFunction(markDirty), METH_FASTCALL,
     "mark_dirty(*tensors)\n\nNames arguments that forward changes in place. It has to return them."},
    {"mark_non_differentiable", asFunction(markNonDifferentiable), METH_FASTCALL,
     "mark_non_differentiable(*tensors)\n\nNames results through which no gradient goes; backward gets zeros for "
     "them."},
    {"set_materialize_grads", setMaterializeGrads, METH_O,
     "set_materialize_grads(value)\n\nWhether backward gets zeros (the default) or None where no gradient arrived."},
    {},
};

constexpr auto at = [](size_t offset) { return static_cast<Py_ssize_t>(offset); };
PyMemberDef members[] = {
    {"needs_input_grad", T_OBJECT, at(offsetof(FunctionObject, needs_input_grad)), 0,
     "For each argument of forward, whether it requires a gradient."},
    {"to_save", T_OBJECT, at(offsetof(FunctionObject, to_save)), 0, "What save_for_backward was given."},
    {"dirty_tensors", T_OBJECT, at(offsetof(FunctionObject, dirty_tensors)), 0, "What mark_dirty was given."},
    {"non_differentiable", T_OBJECT, at(offsetof(FunctionObject, non_differentiable)), 0,
     "What mark_non_differentiable was given."},
    {"materialize_grads", T_BOOL, at(offsetof(FunctionObject, materialize_grads)), 0, "See set_materialize_grads."},
    {},
};

PyGetSetDef properties[] = {
    {"saved_tensors", getSavedTensors, nullptr, "What forward saved. RuntimeError once the graph has been freed.",
     nullptr},
    {"saved_variables", getSavedTensors, nullptr, "saved_tensors by its old name.", nullptr},
    {"metadata", getMetadata, nullptr, "A dict for whatever a program notes about the node.", nullptr},
    {},
};

}  // namespace

PyTypeObject FunctionBaseType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._FunctionBase",
    .tp_basicsize = sizeof(FunctionObject),
    .tp_dealloc = dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "What contexts of custom functions, and Function, have from C++.",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = properties,
    .tp_new = PyType_GenericNew,
};

void addFunctionType(PyObject* module) {
  checkStatus(PyType_Ready(&FunctionBaseType));
  PyObject* const dict = FunctionBaseType.tp_dict;
  PyTypeObject* const type = &FunctionBaseType;
  for (PyMethodDef* m = node_methods; m->ml_name != nullptr; ++m)
    checkStatus(PyDict_SetItemString(dict, m->ml_name, owned(PyDescr_NewMethod(type, m)).get()));
  for (PyGetSetDef* p = node_properties; p->name != nullptr; ++p)
    checkStatus(PyDict_SetItemString(dict, p->name, owned(PyDescr_NewGetSet(type, p)).get()));
  PyType_Modified(type);
  checkStatus(PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(type)));
}

}  // namespace shunt::python
