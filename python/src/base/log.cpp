#include "python/src/base/log.h"

#include "python/src/base/errors.h"
#include "python/src/base/wording.h"

#include <shunt/core/log.h>

#include <cstring>

namespace shunt::python {

namespace {

LogSink sink_before = nullptr;

enum class Whose { kPackages, kImports, kPrograms };

/// Whose module the frame runs. warnings.warn passes over those of Python's imports without counting them.
Whose whoseFrame(PyObject* frame) {
  const Ref globals = Ref::steal(PyObject_GetAttrString(frame, "f_globals"));
  PyObject* const name = globals ? PyDict_GetItemString(globals.get(), "__name__") : nullptr;
  const char* const text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  PyErr_Clear();
  if (text == nullptr) return Whose::kPrograms;
  if (std::strcmp(text, "shunt") == 0 || std::strncmp(text, "shunt.", 6) == 0) return Whose::kPackages;
  return std::strncmp(text, "importlib._bootstrap", 20) == 0 ? Whose::kImports : Whose::kPrograms;
}

/// As warnings.warn counts: 1 is the innermost frame.
Py_ssize_t callersLevel() {
  Py_ssize_t level = 1;
  Ref frame = Ref::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    const Whose whose = whoseFrame(frame.get());
    if (whose == Whose::kPrograms) break;
    if (whose == Whose::kPackages) ++level;
    frame = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  }
  return frame ? level : 1;
}

void warn(LogLevel level, const char* message) {
  if (level != LogLevel::kWarning || !isInterpreterAlive()) {
    if (sink_before != nullptr) sink_before(level, message);
    return;
  }
  const bool is_pythons = PyGILState_GetThisThreadState() != nullptr;
  const Gil gil;
  // A call that fails may warn on its way.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  // The library goes on whatever filters make of the warning. See Note [Warnings that are errors] in errors.h.
  if (PyErr_WarnEx(PyExc_UserWarning, inPython(message).c_str(), callersLevel()) < 0) {
    if (is_pythons)
      keepWarning();
    else
      PyErr_WriteUnraisable(nullptr);
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void warnCaller(PyObject* category, const std::string& message) {
  checkStatus(PyErr_WarnEx(category, message.c_str(), callersLevel()));
}

PyObject* warnFromPython(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char* message = nullptr;
    PyObject* category = PyExc_UserWarning;
    if (!PyArg_ParseTuple(arguments, "s|O", &message, &category)) return nullptr;
    warnCaller(category, message);
    Py_RETURN_NONE;
  });
}

void sendLogToPython() { sink_before = set_log_sink(warn); }

}  // namespace shunt::python
