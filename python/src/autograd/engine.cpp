#include "python/src/autograd/engine.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/call/results.h"

#include <shunt/autograd/autograd.h>
#include <shunt/shunt.h>

namespace shunt::python {

namespace {

autograd::variable_list tensorsOf(PyObject* list) {
  autograd::variable_list out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* o = PySequence_Fast_ITEMS(list)[i];
    if (o != Py_None && !isTensor(o)) raise(PyExc_TypeError, "expected Tensor or None, got " + typeNameOf(o));
    out.push_back(o == Py_None ? Tensor() : tensorOf(o));
  }
  return out;
}

// The package has checked the types: each list is a tuple.
PyObject* runBackward(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors = nullptr, *grads = nullptr, *inputs = nullptr;
    int retain = 0, create = 0, allow_unused = 0, accumulate = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!ppO!pp", &PyTuple_Type, &tensors, &PyTuple_Type, &grads, &retain, &create,
                          &PyTuple_Type, &inputs, &allow_unused, &accumulate))
      return nullptr;
    const autograd::variable_list outputs = tensorsOf(tensors), gradients = tensorsOf(grads),
                                  wanted = tensorsOf(inputs);
    if (accumulate != 0) {
      const WithoutGil unlocked;
      autograd::backward(outputs, gradients, retain != 0, create != 0, wanted);
    } else {
      autograd::variable_list results;
      {
        const WithoutGil unlocked;
        results = autograd::grad(outputs, wanted, gradients, retain != 0, create != 0, allow_unused != 0);
      }
      return wrapTensors(std::move(results));
    }
    Py_RETURN_NONE;
  });
}

PyObject* isGradEnabled(PyObject*, PyObject*) { return PyBool_FromLong(GradMode::is_enabled()); }
PyObject* setGradEnabled(PyObject*, PyObject* on) {
  GradMode::set_enabled(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
}
PyObject* isInferenceModeEnabled(PyObject*, PyObject*) { return PyBool_FromLong(InferenceMode::is_enabled()); }

// An InferenceMode lives between enter and exit, which Python calls in pairs, on one thread.
void endInferenceMode(PyObject* capsule) {
  delete static_cast<InferenceMode*>(PyCapsule_GetPointer(capsule, "shunt.InferenceMode"));
}
PyObject* enterInferenceMode(PyObject*, PyObject* on) {
  return PyCapsule_New(new InferenceMode(PyObject_IsTrue(on) == 1), "shunt.InferenceMode", nullptr);
}
PyObject* exitInferenceMode(PyObject*, PyObject* capsule) {
  if (PyCapsule_GetPointer(capsule, "shunt.InferenceMode") == nullptr) return nullptr;
  endInferenceMode(capsule);
  PyCapsule_SetName(capsule, "ended");
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef autograd_functions[] = {
    {"_run_backward", runBackward, METH_VARARGS, nullptr},
    {"is_grad_enabled", isGradEnabled, METH_NOARGS,
     "is_grad_enabled() -> bool\n\nWhether this thread records gradients."},
    {"_set_grad_enabled", setGradEnabled, METH_O, nullptr},
    {"is_inference_mode_enabled", isInferenceModeEnabled, METH_NOARGS, "is_inference_mode_enabled() -> bool"},
    {"_enter_inference_mode", enterInferenceMode, METH_O, nullptr},
    {"_exit_inference_mode", exitInferenceMode, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
