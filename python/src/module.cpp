// The extension shunt._C: types, the dictionary's functions, and what the package's Python is made of.
#include "python/src/arrays/dlpack.h"
#include "python/src/arrays/factories.h"
#include "python/src/autograd/engine.h"
#include "python/src/autograd/function_names.h"
#include "python/src/autograd/function_node.h"
#include "python/src/autograd/grad_mode.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/node_object.h"
#include "python/src/autograd/saved_hooks.h"
#include "python/src/base/errors.h"
#include "python/src/base/log.h"
#include "python/src/call/default_device.h"
#include "python/src/call/entry.h"
#include "python/src/compile/compiled.h"
#include "python/src/dispatch/dispatch.h"
#include "python/src/files/files.h"
#include "python/src/func/calls.h"
#include "python/src/nn/look_up.h"
#include "python/src/types/constants.h"
#include "python/src/types/cuda.h"
#include "python/src/types/device.h"
#include "python/src/types/generator.h"
#include "python/src/types/settings.h"
#include "python/src/types/size.h"
#include "python/src/types/storage.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

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

PyObject* setMoreForms(PyObject*, PyObject* by_name) {
  more_forms = Py_NewRef(by_name);
  Py_RETURN_NONE;
}

/// _shown_package(): "shunt", or "torch".
PyObject* shownPackageFromPython(PyObject*, PyObject*) { return PyUnicode_FromString(shownPackage()); }

/// _result_type(name): the class of the results of a function; None for those without names.
PyObject* resultTypeFromPython(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) throw PythonError();
    auto* const type = reinterpret_cast<PyObject*>(resultTypeOf(text));
    return Py_NewRef(type != nullptr ? type : Py_None);
  });
}

PyMethodDef module_functions[] = {
    {"_result_type", resultTypeFromPython, METH_O, nullptr},
    {"_set_more_forms", setMoreForms, METH_O, nullptr},
    {"_show_package", showPackage, METH_O, nullptr},
    {"_shown_package", shownPackageFromPython, METH_NOARGS, nullptr},
    {"_warn", warnFromPython, METH_VARARGS, nullptr},
    {"_set_tensor_class", setTensorClass, METH_O, nullptr},
    {"_set_parameter_class", setParameterClass, METH_O, nullptr},
    {"_set_function_class", setFunctionClass, METH_VARARGS, nullptr},
    {},
};

/// The dictionary's functions by name: shunt._C._functions, and modules for those that stand in a module of the
/// package.
void addFunctions(PyObject* module) {
  for (const ModuleFunctions* m = generated_modules; m->name != nullptr; ++m) {
    const auto* name =
        new std::string(std::string("shunt._C.") + m->name);  // by which functions are known as the package's
    auto* definition = new PyModuleDef{.m_base = PyModuleDef_HEAD_INIT,
                                       .m_name = name->c_str(),
                                       .m_doc = "Operators of the dictionary as functions.",
                                       .m_size = -1,
                                       .m_methods = m->functions};  // as long as the process
    const Ref functions = owned(PyModule_Create(definition));
    checkStatus(PyModule_AddObjectRef(module, m->name, functions.get()));
  }
}

void fill(PyObject* m) {
  for (PyMethodDef* functions :
       {module_functions, autograd_functions, recording_functions, factory_functions, dlpack_functions,
        storage_functions, setting_functions, file_functions, cuda_functions, tensor_class_functions,
        tensor_value_functions, default_device_functions, module_look_up_functions})
    checkStatus(PyModule_AddFunctions(m, functions));
  checkStatus(PyModule_AddStringConstant(m, "__version__", SHUNT_VERSION));
  addConstants(m);
  addDevice(m);
  addSize(m);
  addGenerator(m);
  addStorage(m);
  addTensorType(m);
  addNodeType(m);
  addFunctionType(m);
  addHandleType(m);
  addGradModes(m);
  sendLogToPython();
  watchEnd();
  addFunctions(m);
  addDispatch(m);
  addCompiled(m);
  addFunctionTransforms(m);
}

/// Types, constants and the default generator are one for a process, so another interpreter gets none, and who imports
/// the module anew gets the same.
int execute(PyObject* module) {
  static PyObject* first = nullptr;
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "shunt works in the main interpreter of a process only; this is another.");
    return -1;
  }
  if (first != nullptr) return PyDict_Update(PyModule_GetDict(module), PyModule_GetDict(first));
  const int status = guardedStatus([&] {
    fill(module);
    return 0;
  });
  if (status != 0) return status;
  first = Py_NewRef(module);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&execute)},
#if PY_VERSION_HEX >= 0x030c0000
    // So that execute() words the refusal, for interpreters with a lock of their own as well.
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef module_definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "shunt._C",
                                 .m_doc = "Shunt in C++. Internal to the package shunt.",
                                 .m_size = 0,
                                 .m_slots = slots};

}  // namespace
}  // namespace shunt::python

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&shunt::python::module_definition); }
