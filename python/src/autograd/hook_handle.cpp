#include "python/src/autograd/hook_handle.h"

#include "python/src/autograd/hooks.h"
#include "python/src/base/errors.h"

#include <structmember.h>

#include <cstddef>

namespace shunt::python {

namespace {

struct HandleObject {
  PyObject_HEAD unsigned id;
  std::function<void()> remove;
};

HandleObject* asObject(PyObject* o) { return reinterpret_cast<HandleObject*>(o); }

void dealloc(PyObject* self) {
  asObject(self)->remove.~function();
  Py_TYPE(self)->tp_free(self);
}

PyObject* removeHook(PyObject* self, PyObject*) {
  return guarded([&] {
    if (const std::function<void()> remove = std::exchange(asObject(self)->remove, nullptr)) remove();
    return Py_NewRef(Py_None);
  });
}
PyObject* enter(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* leave(PyObject* self, PyObject*) { return removeHook(self, nullptr); }

PyMethodDef methods[] = {
    {"remove", removeHook, METH_NOARGS, "remove()\n\nRemoves the hook. Once more does nothing."},
    {"__enter__", enter, METH_NOARGS, "The handle itself: a hook for the length of a block."},
    {"__exit__", leave, METH_VARARGS, "Removes the hook."},
    {},
};
PyMemberDef members[] = {
    {"id", T_UINT, static_cast<Py_ssize_t>(offsetof(HandleObject, id)), READONLY,
     "The hook's number on its tensor or node."},
    {},
};

PyTypeObject HandleType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._RemovableHandle",
    .tp_basicsize = sizeof(HandleObject),
    .tp_dealloc = dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Removes the hook that it was returned for: remove(), or the end of a with block.",
    .tp_methods = methods,
    .tp_members = members,
};

}  // namespace

void addHandleType(PyObject* module) {
  checkStatus(PyType_Ready(&HandleType));
  checkStatus(PyModule_AddObjectRef(module, "_RemovableHandle", reinterpret_cast<PyObject*>(&HandleType)));
}

PyObject* makeHandle(unsigned id, std::function<void()> remove) {
  PyObject* o = check(HandleType.tp_alloc(&HandleType, 0));
  asObject(o)->id = id;
  new (&asObject(o)->remove) std::function<void()>(std::move(remove));
  return o;
}

}  // namespace shunt::python
