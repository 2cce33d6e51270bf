// The extension shunt._C: types, the dictionary's functions, and what the package's Python is made of.
#include "python/src/autograd/engine.h"
#include "python/src/base/errors.h"
#include "python/src/call/entry.h"
#include "python/src/dispatch/dispatch.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/generator.h"
#include "python/src/types/size.h"
#include "python/src/types/tensor.h"

#include <shunt/version.h>

namespace shunt::python {

namespace {

PyObject* setTensorClass(PyObject*, PyObject* cls) {
  tensor_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}
PyObject* setParameterClass(PyObject*, PyObject* cls) {
  parameter_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

PyMethodDef module_functions[] = {
    {"_set_tensor_class", setTensorClass, METH_O, nullptr},
    {"_set_parameter_class", setParameterClass, METH_O, nullptr},
    {},
};

/// shunt._C._functions: the dictionary's functions by name.
void addFunctions(PyObject* module) {
  static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                   .m_name = "shunt._C._functions",
                                   .m_doc = "The operators of the dictionary as functions.",
                                   .m_size = -1,
                                   .m_methods = generated_functions};
  const Ref functions = owned(PyModule_Create(&definition));
  checkStatus(PyModule_AddObjectRef(module, "_functions", functions.get()));
}

PyModuleDef module_definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "shunt._C",
                                 .m_doc = "Shunt in C++. Internal to the package shunt.",
                                 .m_size = -1,  // one interpreter
                                 .m_methods = module_functions};

PyObject* makeModule() {
  Ref module = owned(PyModule_Create(&module_definition));
  PyObject* m = module.get();
  checkStatus(PyModule_AddFunctions(m, autograd_functions));
  checkStatus(PyModule_AddStringConstant(m, "__version__", SHUNT_VERSION));
  addConstants(m);
  addDevice(m);
  addSize(m);
  addGenerator(m);
  addTensorType(m);
  addFunctions(m);
  addDispatch(m);
  return module.release();
}

}  // namespace
}  // namespace shunt::python

PyMODINIT_FUNC PyInit__C() {
  return shunt::python::guarded([] { return shunt::python::makeModule(); });
}
