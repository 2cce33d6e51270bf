#include "python/src/autograd/saved_hooks.h"

#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/base/shared_object.h"
#include "python/src/types/tensor.h"

#include <shunt/autograd/anomaly_mode.h>
#include <shunt/autograd/current_run.h>
#include <shunt/autograd/saved_tensor_hooks.h>
#include <shunt/autograd/variable_utils.h>

namespace shunt::python {

using autograd::AnomalyMode;

namespace {

PyObject* pushSavedHooks(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *pack = nullptr, *unpack = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &pack, &unpack)) return nullptr;
    auto hooks = std::make_shared<autograd::SavedTensorHooks>();
    hooks->pack = [pack = share(pack)](const Tensor& tensor) -> std::shared_ptr<void> {
      const Gil gil;
      const Ref given = owned(wrap(tensor));
      const Ref packed = owned(PyObject_CallOneArg(pack.get(), given.get()));
      return share(packed.get());
    };
    hooks->unpack = [unpack = share(unpack)](const std::shared_ptr<void>& packed) {
      const Gil gil;
      const Ref tensor = owned(PyObject_CallOneArg(unpack.get(), static_cast<PyObject*>(packed.get())));
      if (!isTensor(tensor.get()))
        raise(PyExc_TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type " +
                                   typeNameOf(tensor.get()));
      return tensorOf(tensor.get());
    };
    autograd::push_saved_tensor_hooks(std::move(hooks));
    Py_RETURN_NONE;
  });
}
PyObject* popSavedHooks(PyObject*, PyObject*) {
  return guarded([&] {
    autograd::pop_saved_tensor_hooks();
    return Py_NewRef(Py_None);
  });
}

/// What was set before: a text, or None where hooks are allowed.
PyObject* disableSavedHooks(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    const auto before =
        autograd::set_saved_tensor_hooks_disabled(message == Py_None ? std::nullopt : std::optional(utf8(message)));
    if (!before) Py_RETURN_NONE;
    return PyUnicode_FromStringAndSize(before->data(), static_cast<Py_ssize_t>(before->size()));
  });
}

PyObject* setAnomaly(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    int on = 0, check_nan = 1;
    if (!PyArg_ParseTuple(arguments, "p|p", &on, &check_nan)) return nullptr;
    AnomalyMode::set_enabled(on != 0, check_nan != 0);
    Py_RETURN_NONE;
  });
}
PyObject* isAnomalyEnabled(PyObject*, PyObject*) { return PyBool_FromLong(AnomalyMode::is_enabled()); }
PyObject* isNanChecked(PyObject*, PyObject*) { return PyBool_FromLong(AnomalyMode::should_check_nan()); }

/// Where the thread is in Python: what traceback.format_stack gives.
std::shared_ptr<void> capturePlace() {
  const Gil gil;
  const Ref traceback = owned(PyImport_ImportModule("traceback"));
  return share(owned(PyObject_CallMethod(traceback.get(), "format_stack", nullptr)).get());
}
std::string describePlace(const std::shared_ptr<void>& captured) {
  const Gil gil;
  const Ref empty = owned(PyUnicode_FromString(""));
  return utf8(owned(PyUnicode_Join(empty.get(), static_cast<PyObject*>(captured.get()))).get());
}

PyObject* notePlaces(PyObject*, PyObject*) {
  autograd::set_forward_places({.capture = capturePlace, .describe = describePlace});
  Py_RETURN_NONE;
}

PyObject* incrementVersion(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!isTensor(tensor)) raise(PyExc_TypeError, "increment_version(): expected a Tensor, got " + typeNameOf(tensor));
    autograd::increment_version(tensorOf(tensor));
    return Py_NewRef(Py_None);
  });
}

PyObject* runId(PyObject*, PyObject*) { return PyLong_FromLongLong(autograd::current_run_id()); }
PyObject* runCalls(PyObject*, PyObject* node) {
  return guarded([&] { return PyBool_FromLong(autograd::current_run_calls(*nodeOf(node))); });
}

}  // namespace

PyMethodDef recording_functions[] = {
    {"_push_saved_tensors_default_hooks", pushSavedHooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", popSavedHooks, METH_NOARGS, nullptr},
    {"_set_saved_tensors_hooks_disabled", disableSavedHooks, METH_O, nullptr},
    {"_set_anomaly_enabled", setAnomaly, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", isAnomalyEnabled, METH_NOARGS,
     "is_anomaly_enabled() -> bool\n\nWhether this thread notes where graphs are made: autograd.detect_anomaly."},
    {"is_anomaly_check_nan_enabled", isNanChecked, METH_NOARGS,
     "is_anomaly_check_nan_enabled() -> bool\n\nWhether anomaly mode looks for NaNs, too."},
    {"_note_forward_places", notePlaces, METH_NOARGS, nullptr},
    {"_current_graph_task_id", runId, METH_NOARGS, nullptr},
    {"_will_engine_execute_node", runCalls, METH_O, nullptr},
    {"_increment_version", incrementVersion, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
