// shunt._C._GradCall: the level in which a function is differentiated, with its inputs.
#include "python/src/base/errors.h"
#include "python/src/call/results.h"
#include "python/src/func/vmap_call.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>
#include <shunt/transforms/grad_transforms.h>

namespace shunt::python {

namespace {

struct Object {
  PyObject_HEAD detail::GradCall* call;
};

detail::GradCall& of(PyObject* self) { return *reinterpret_cast<Object*>(self)->call; }

const Tensor& tensorIn(PyObject* o) {
  if (!isTensor(o)) raise(PyExc_TypeError, "expected Tensor, got " + typeNameOf(o));
  return tensorOf(o);
}

std::vector<Tensor> tensorsIn(PyObject* list) {
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    out.push_back(o == Py_None ? Tensor() : tensorIn(o));
  }
  return out;
}

PyObject* newCall(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    if (!PyArg_ParseTuple(arguments, "s", &name)) return nullptr;
    auto call = std::make_unique<detail::GradCall>(name);
    PyObject* self = check(type->tp_alloc(type, 0));
    reinterpret_cast<Object*>(self)->call = call.release();
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<Object*>(self)->call;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    of(self).enter();
    Py_RETURN_NONE;
  });
}
PyObject* leave(PyObject* self, PyObject*) {
  of(self).leave();
  Py_RETURN_NONE;
}
PyObject* wrapInput(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t argument = 0;
    PyObject* tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "nO", &argument, &tensor)) return nullptr;
    return wrap(of(self).wrap(static_cast<size_t>(argument), tensorIn(tensor)));
  });
}
PyObject* gradients(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *grads = nullptr;
    int keep = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!p", &PyList_Type, &outputs, &PyList_Type, &grads, &keep)) return nullptr;
    const std::vector<Tensor> results = tensorsIn(outputs), given = tensorsIn(grads);
    std::vector<Tensor> found;
    {
      const WithoutGil unlocked;
      found = of(self).gradients(results, given, keep != 0);
    }
    return wrapTensors(std::move(found));
  });
}
PyObject* unwrap(PyObject* self, PyObject* tensor) {
  return guarded([&] { return wrap(of(self).unwrap(tensorIn(tensor))); });
}

PyMethodDef methods[] = {
    {"enter", enter, METH_NOARGS, "enter(): begins to run the function, or to compute its gradients."},
    {"leave", leave, METH_NOARGS, "leave(): ends what enter() began."},
    {"wrap", wrapInput, METH_VARARGS, "wrap(argument, tensor) -> Tensor: what the function gets for an input."},
    {"gradients", gradients, METH_VARARGS,
     "gradients(outputs, grads, keep_graph): of all inputs, in order; grads only for vjp. Inside."},
    {"unwrap", unwrap, METH_O, "unwrap(tensor) -> Tensor: the value of a tensor of the level; others as they are."},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(newCall)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("The level in which a function is differentiated: (transform's name).")},
    {0, nullptr}};
PyType_Spec spec = {"shunt._C._GradCall", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void addGradCall(PyObject* module) { addHeapType(module, spec); }

}  // namespace shunt::python
