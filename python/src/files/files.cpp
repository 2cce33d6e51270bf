#include "python/src/files/files.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"

#include <shunt/files/files.h>

namespace shunt::python {

namespace {

/// The pairs of a dictionary of strings.
template <class F>
void forEach(PyObject* dict, F&& f) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &key, &value);) {
    if (!PyUnicode_Check(key)) raise(PyExc_TypeError, "save(): names must be str, not " + typeNameOf(key));
    f(utf8(key), value);
  }
}

PyObject* saveFile(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors = nullptr, *metadata = nullptr;
    const char* path = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!sO!", &PyDict_Type, &tensors, &path, &PyDict_Type, &metadata)) return nullptr;
    std::map<std::string, Tensor> by_name;
    forEach(tensors, [&](const std::string& name, PyObject* value) {
      if (!isTensor(value))
        raise(PyExc_TypeError, "save(): '" + name + "' must be Tensor for this kind of file, not " + typeNameOf(value));
      by_name[name] = tensorOf(value);
    });
    std::map<std::string, std::string> texts;
    forEach(metadata, [&](const std::string& name, PyObject* value) {
      if (!PyUnicode_Check(value))
        raise(PyExc_TypeError, "save(): metadata '" + name + "' must be str, not " + typeNameOf(value));
      texts[name] = utf8(value);
    });
    {
      const WithoutGil unlocked;
      save(by_name, path, texts);
    }
    Py_RETURN_NONE;
  });
}

PyObject* loadFile(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const std::string name = utf8(path);
    std::map<std::string, Tensor> tensors;
    {
      const WithoutGil unlocked;
      tensors = load(name);
    }
    Ref dict = owned(PyDict_New());
    for (auto& [key, tensor] : tensors) {
      const Ref value = owned(wrap(std::move(tensor)));
      checkStatus(PyDict_SetItemString(dict.get(), key.c_str(), value.get()));
    }
    return dict.release();
  });
}

PyObject* loadMetadata(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    Ref dict = owned(PyDict_New());
    for (const auto& [key, text] : load_metadata(utf8(path))) {
      const Ref value = owned(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
      checkStatus(PyDict_SetItemString(dict.get(), key.c_str(), value.get()));
    }
    return dict.release();
  });
}

}  // namespace

PyMethodDef file_functions[] = {
    {"_save_file", saveFile, METH_VARARGS, nullptr},
    {"_load_file", loadFile, METH_O, nullptr},
    {"_load_metadata", loadMetadata, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
