#include "python/src/base/errors.h"

#include "python/src/base/wording.h"

#include <cxxabi.h>
#include <new>

namespace shunt::python {

namespace {

void setError(PyObject* type, const std::exception& e) { PyErr_SetString(type, inPython(e.what()).c_str()); }

/// Where PyTorch has another type than NotImplementedError for what can't be run: by a part of the message.
struct OtherType {
  std::string_view part;
  PyObject* const* type;
  const char* first;   // what to say first
  bool alone = false;  // whether that is all there is to say, but for the operators that ran
};
constexpr const char* kNoAccelerator =
    "Shunt has no CUDA: its tensors are on the CPU. Leave out .cuda() and device='cuda', or ask "
    "shunt.cuda.is_available() first.";
constexpr const char* kNoMps =
    "Shunt has no backend for mps: its tensors are on the CPU. Leave out .to('mps') and device='mps', or ask "
    "shunt.backends.mps.is_available() first.";
const OtherType kOtherTypes[] = {
    {"from the 'CUDA' backend", &PyExc_AssertionError, kNoAccelerator, true},
    {"from the 'XPU' backend", &PyExc_AssertionError, ""},
    {"'aten::empty.memory_format' with arguments from the 'MPS' backend", &PyExc_RuntimeError, kNoMps, true},
    {"\"bitwise_not\" not implemented for", &PyExc_TypeError,
     "~ (operator.invert) is only implemented on integer and Boolean-type tensors. "},
    {"\"argmax_cpu\" not implemented for 'Bool'", &PyExc_RuntimeError, "argmax(): does not support bool input. "},
    {"\"argmin_cpu\" not implemented for 'Bool'", &PyExc_RuntimeError, "argmin(): does not support bool input. "},
};

void setNotImplemented(const NotImplementedError& e) {
  const std::string message = inPython(e.what());
  for (const OtherType& other : kOtherTypes)
    if (message.find(other.part) != message.npos) {
      const size_t rest = other.alone ? std::min(message.rfind(" (in "), message.size()) : 0;
      return PyErr_SetString(*other.type, (other.first + message.substr(rest)).c_str());
    }
  PyErr_SetString(PyExc_NotImplementedError, message.c_str());
}

/// shunt.linalg.LinAlgError, a class of the package's; RuntimeError, which it derives from, where the package can't be
/// imported any more.
void setLinAlgError(const LinAlgError& e) {
  const Ref module = Ref::steal(PyImport_ImportModule("shunt.linalg"));
  const Ref type = Ref::steal(module ? PyObject_GetAttrString(module.get(), "LinAlgError") : nullptr);
  if (!type) PyErr_Clear();
  setError(type ? type.get() : PyExc_RuntimeError, e);
}

}  // namespace

// Note [Warnings that are errors] in errors.h

std::atomic<int> waiting_warnings{0};

namespace {

struct WaitingWarning {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
};
thread_local WaitingWarning waiting;

void forgetWaitingWarning() noexcept {
  if (waiting.type == nullptr) return;
  waiting_warnings.fetch_sub(1, std::memory_order_relaxed);
  const WaitingWarning w = std::exchange(waiting, {});
  drop(w.type);
  drop(w.value);
  drop(w.traceback);
}

}  // namespace

void keepWarning() noexcept {
  WaitingWarning w;
  PyErr_Fetch(&w.type, &w.value, &w.traceback);
  if (waiting.type != nullptr) {
    drop(w.type);
    drop(w.value);
    drop(w.traceback);
    return;
  }
  waiting = w;
  waiting_warnings.fetch_add(1, std::memory_order_relaxed);
}

bool raiseWaitingWarning() noexcept {
  // An error that the function has set itself is the more important one.
  if (waiting.type == nullptr || PyErr_Occurred() != nullptr) {
    forgetWaitingWarning();
    return false;
  }
  waiting_warnings.fetch_sub(1, std::memory_order_relaxed);
  const WaitingWarning w = std::exchange(waiting, {});
  PyErr_Restore(w.type, w.value, w.traceback);
  return true;
}

void dropKeepingError(PyObject* result) noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  drop(result);
  PyErr_Restore(type, value, traceback);
}

void setErrorFromCurrentException() noexcept {
  forgetWaitingWarning();
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
  } catch (const IndexError& e) {
    setError(PyExc_IndexError, e);
  } catch (const NotImplementedError& e) {
    setNotImplemented(e);
  } catch (const TypeError& e) {
    setError(PyExc_TypeError, e);
  } catch (const ValueError& e) {
    setError(PyExc_ValueError, e);
  } catch (const LinAlgError& e) {
    setLinAlgError(e);
  } catch (const abi::__forced_unwind&) {
    waitForEnd();  // Note [Threads at the end]
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    setError(PyExc_RuntimeError, e);
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of C++ of unknown type");
  }
}

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) throw PythonError();
  return std::string(data, static_cast<size_t>(size));
}

std::string reprOf(PyObject* object) {
  const Ref repr = Ref::steal(PyObject_Repr(object));
  const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return typeNameOf(object);
  }
  return text;
}

std::string typeNameOf(PyObject* object) {
  const std::string name = Py_TYPE(object)->tp_name;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.compare(0, 5, "shunt") != 0) return name;
  return name.substr(dot + 1);  // "Tensor", not "shunt._C.TensorBase"
}

}  // namespace shunt::python
