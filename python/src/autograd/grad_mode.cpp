#include "python/src/autograd/grad_mode.h"

#include "python/src/base/errors.h"

#include <shunt/core/tls.h>
#include <structmember.h>

#include <cstddef>

namespace shunt::python {

namespace {

// `on` is what the block sets, `before` what it found. Python's classes set `on` by their class attribute _on.
struct GradModeObject {
  PyObject_HEAD bool on;
  bool before;
};

GradModeObject* asObject(PyObject* o) { return reinterpret_cast<GradModeObject*>(o); }

/// cls(), or cls(function): the function decorated.
PyObject* newMode(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static PyObject* const attribute = check(PyUnicode_InternFromString("_on"));
    PyObject* function = nullptr;
    if (PyTuple_GET_SIZE(arguments) > 0 || keywords != nullptr) {
      static const char* names[] = {"orig_func", nullptr};
      if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", const_cast<char**>(names), &function)) return nullptr;
    }
    Ref self = owned(type->tp_alloc(type, 0));
    const Ref on = owned(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), attribute));
    asObject(self.get())->on = on.get() == Py_True;
    asObject(self.get())->before = GradMode::is_enabled();
    return function == nullptr || function == Py_None ? self.release() : PyObject_CallOneArg(self.get(), function);
  });
}

PyObject* enter(PyObject* self, PyObject*) {
  asObject(self)->before = GradMode::is_enabled();
  GradMode::set_enabled(asObject(self)->on);
  Py_RETURN_NONE;
}
PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  GradMode::set_enabled(asObject(self)->before);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "Sets the mode for this thread."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(leave)), METH_FASTCALL, "Sets what was before."},
    {},
};
PyMemberDef members[] = {
    {"prev", T_BOOL, static_cast<Py_ssize_t>(offsetof(GradModeObject, before)), 0, "What the block found."},
    {},
};

PyTypeObject GradModeType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._GradModeBase",
    .tp_basicsize = sizeof(GradModeObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "The base of no_grad and enable_grad.",
    .tp_methods = methods,
    .tp_members = members,
    .tp_new = newMode,
};

}  // namespace

void addGradModes(PyObject* module) {
  checkStatus(PyType_Ready(&GradModeType));
  checkStatus(PyModule_AddObjectRef(module, "_GradModeBase", reinterpret_cast<PyObject*>(&GradModeType)));
}

}  // namespace shunt::python
