#include "python/src/base/errors.h"

#include <cxxabi.h>
#include <new>

namespace shunt::python {

void setErrorFromCurrentException() noexcept {
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
  } catch (const IndexError& e) {
    PyErr_SetString(PyExc_IndexError, e.what());
  } catch (const NotImplementedError& e) {
    PyErr_SetString(PyExc_NotImplementedError, e.what());
  } catch (const TypeError& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const ValueError& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const abi::__forced_unwind&) {
    waitForEnd();  // Note [Threads at the end]
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
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
