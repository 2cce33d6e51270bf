// One call of a vmapped function, whose tensors are the leaves of its arguments.
#include "python/src/func/vmap_call.h"

#include "python/src/base/errors.h"
#include "python/src/func/calls.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>
#include <shunt/transforms/vmap.h>

#include <cstring>
#include <memory>

namespace shunt::python {

namespace {

/// What a call refers to lies beside it.
struct State {
  State(VmapOptions given, size_t arguments)
      : options(std::move(given)),
        holds_tensors(std::make_unique<bool[]>(arguments)),
        call(options, std::span<const bool>(filled(holds_tensors.get(), arguments), arguments)) {}
  static const bool* filled(bool* flags, size_t n) {
    std::fill_n(flags, n, true);
    return flags;
  }
  const VmapOptions options;
  const std::unique_ptr<bool[]> holds_tensors;
  detail::VmapCall call;
};

struct Object {
  PyObject_HEAD State* state;
};

detail::VmapCall& of(PyObject* self) { return reinterpret_cast<Object*>(self)->state->call; }

const Tensor& tensorIn(PyObject* o) {
  if (!isTensor(o)) raise(PyExc_TypeError, "vmap: expected Tensor, got " + typeNameOf(o));
  return tensorOf(o);
}

int64_t toInt(PyObject* o) {
  const long long value = PyLong_AsLongLong(o);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

PyObject* newCall(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *in_dims = nullptr, *out_dims = nullptr;
    int randomness = 0;
    long long chunk_size = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!iL", &PyTuple_Type, &in_dims, &PyTuple_Type, &out_dims, &randomness,
                          &chunk_size))
      return nullptr;
    VmapOptions options{.randomness = static_cast<Randomness>(randomness), .chunk_size = chunk_size};
    options.out_dims.clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(in_dims); ++i) {
      PyObject* dim = PyTuple_GET_ITEM(in_dims, i);
      options.in_dims.push_back(dim == Py_None ? std::nullopt : std::optional<int64_t>(toInt(dim)));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out_dims); ++i)
      options.out_dims.push_back(toInt(PyTuple_GET_ITEM(out_dims, i)));
    auto state = std::make_unique<State>(std::move(options), static_cast<size_t>(PyTuple_GET_SIZE(in_dims)));
    PyObject* self = check(type->tp_alloc(type, 0));
    reinterpret_cast<Object*>(self)->state = state.release();
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<Object*>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* measure(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t i = 0;
    PyObject* tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "nO", &i, &tensor)) return nullptr;
    of(self).measure(static_cast<size_t>(i), tensorIn(tensor));
    Py_RETURN_NONE;
  });
}
PyObject* chunks(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(of(self).chunks()); });
}
PyObject* enter(PyObject* self, PyObject* chunk) {
  return guarded([&]() -> PyObject* {
    of(self).enter(toInt(chunk));
    Py_RETURN_NONE;
  });
}
PyObject* leave(PyObject* self, PyObject*) {
  of(self).leave();
  Py_RETURN_NONE;
}
PyObject* wrapArgument(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t i = 0;
    PyObject* tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "nO", &i, &tensor)) return nullptr;
    return wrap(of(self).wrap(static_cast<size_t>(i), tensorIn(tensor)));
  });
}
PyObject* unwrap(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t position = 0, count = 0;
    PyObject* tensor = nullptr;
    if (!PyArg_ParseTuple(arguments, "Onn", &tensor, &position, &count)) return nullptr;
    return wrap(of(self).unwrap(tensorIn(tensor), static_cast<size_t>(position), static_cast<size_t>(count)));
  });
}
PyObject* join(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t position = 0, count = 0;
    PyObject* list = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!nn", &PyList_Type, &list, &position, &count)) return nullptr;
    std::vector<Tensor> parts;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) parts.push_back(tensorIn(PyList_GET_ITEM(list, i)));
    return wrap(of(self).join(parts, static_cast<size_t>(position), static_cast<size_t>(count)));
  });
}

PyMethodDef methods[] = {
    {"measure", measure, METH_VARARGS, "measure(i, tensor): looks at the batch of leaf i."},
    {"chunks", chunks, METH_NOARGS, "chunks() -> int: how many parts of the batch are run."},
    {"enter", enter, METH_O, "enter(chunk): begins to run a part."},
    {"leave", leave, METH_NOARGS, "leave(): ends what enter() began."},
    {"wrap", wrapArgument, METH_VARARGS, "wrap(i, tensor) -> Tensor: what the function gets for leaf i."},
    {"unwrap", unwrap, METH_VARARGS, "unwrap(tensor, position, count) -> Tensor: result `position` with its batch."},
    {"join", join, METH_VARARGS, "join(tensors, position, count) -> Tensor: the results of all parts."},
    {},
};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(newCall)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>("One call of a vmapped function: (in_dims, out_dims, randomness, "
                                                     "chunk_size), dimensions by leaf.")},
                       {0, nullptr}};
PyType_Spec spec = {"shunt._C._VmapCall", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void addHeapType(PyObject* module, PyType_Spec& type) {
  const Ref made = owned(PyType_FromSpec(&type));
  checkStatus(PyModule_AddObjectRef(module, std::strrchr(type.name, '.') + 1, made.get()));
}

void addVmapCall(PyObject* module) { addHeapType(module, spec); }

void addFunctionTransforms(PyObject* module) {
  addVmapCall(module);
  addGradCall(module);
}

}  // namespace shunt::python
