#include "calls.h"

#include "recording.h"
#include "training_call.h"

#include "values.h"

#include <torch/csrc/Exceptions.h>

namespace shunt_torch {
namespace {

// The object of ours behind a Python object, without pybind11's look-up of the type by its name.
template <typename T>
T& unwrap(PyObject* o, const char* otherwise) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<T>().release().ptr());
  if (Py_TYPE(o) != type) throw py::type_error(otherwise);
  return *reinterpret_cast<py::detail::instance*>(o)->get_value_and_holder().template value_ptr<T>();
}

template <typename F>
PyObject* withPythonErrors(const F& run) {
  try {
    return run();
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (python_error& e) {
    e.restore();
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
  return nullptr;
}

PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !PyList_CheckExact(args[0])) {
    PyErr_SetString(PyExc_TypeError, "call(recordings, args, kwargs)");
    return nullptr;
  }
  return callRecordings(args[0], args[1], args[2]);
}

PyObject* train(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyList_CheckExact(args[1])) {
    PyErr_SetString(PyExc_TypeError, "train(call, args)");
    return nullptr;
  }
  return withPythonErrors([&] {
    return unwrap<TrainingCall>(args[0], "train: expected a TrainingCall")
        .call(py::reinterpret_borrow<py::list>(args[1]))
        .release()
        .ptr();
  });
}

PyMethodDef methods[] = {
    {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL,
     "call(recordings, args, kwargs): the result of the first recording whose guards hold, or MISSED"},
    {"train", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(train)), METH_FASTCALL,
     "train(call, args): the results of a TrainingCall, or MISSED where it can't be called so here"}};

}  // namespace

PyObject* callRecordings(PyObject* recordings, PyObject* args, PyObject* kwargs) {
  return withPythonErrors([&] {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(recordings); ++i) {
      // A recording, kept alive, since another thread may change the list.
      const auto object = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(recordings, i));
      PyObject* const out = unwrap<Recording>(object.ptr(), "call: expected recordings").call(args, kwargs);
      if (out != missed()) return out;
      Py_DECREF(out);
    }
    return Py_NewRef(missed());
  });
}

void addCalls(py::module_& m) {
  for (PyMethodDef& method : methods)
    m.attr(method.ml_name) = py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
}

}  // namespace shunt_torch
