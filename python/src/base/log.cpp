#include "python/src/base/log.h"

#include "python/src/base/python.h"

#include <shunt/core/log.h>

namespace shunt::python {

namespace {

LogSink sink_before = nullptr;

void warn(LogLevel level, const char* message) {
  if (level != LogLevel::kWarning || !isInterpreterAlive()) {
    if (sink_before != nullptr) sink_before(level, message);
    return;
  }
  const Gil gil;
  // A call that fails may warn on its way.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  // The library goes on whatever filters make of the warning: an exception has no way out from here.
  if (PyErr_WarnEx(PyExc_UserWarning, message, 1) < 0) PyErr_WriteUnraisable(nullptr);
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void sendLogToPython() { sink_before = set_log_sink(warn); }

}  // namespace shunt::python
