#include "python/src/nn/look_up.h"

#include "python/src/base/errors.h"

namespace shunt::python {

namespace {

// Note [Attributes of modules]
// nn.Module defines __getattr__, which Python calls after it has made an AttributeError of what it looked for in vain:
// 250 ns for each parameter that a forward function reads, where a small layer computes for 500. So the slot of classes
// derived from Module is set to findAttribute(), which does the same by three look-ups in dictionaries, 60 ns. Python
// sets the slot anew where a program gives a class a __getattr__ or __getattribute__ of its own, before or after.

/// Module's __getattr__, and the slot that classes with one have: borrowed, as Module lives as long as the process.
PyObject* module_getattr = nullptr;
getattrofunc python_slot = nullptr;

#if PY_VERSION_HEX < 0x030e0000

PyObject* tables[3];  // their names

/// What Python finds by itself; null without an error where it finds nothing.
PyObject* findPlain(PyObject* self, PyObject* name) { return _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1); }

PyObject* findAttribute(PyObject* self, PyObject* name) {
  PyObject* found = findPlain(self, name);
  if (found != nullptr || PyErr_Occurred() != nullptr) return found;
  for (PyObject* table_name : tables) {
    const Ref table = Ref::steal(findPlain(self, table_name));  // none before Module.__init__()
    if (table && PyDict_Check(table.get())) found = Py_XNewRef(PyDict_GetItemWithError(table.get(), name));
    if (found != nullptr || PyErr_Occurred() != nullptr) return found;
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  return nullptr;
}

/// Whether the class finds this object under the name.
bool finds(PyTypeObject* type, const char* name, PyObject* expected) {
  const Ref found = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  PyErr_Clear();
  return found.get() == expected;
}

/// _look_up_in_tables(cls): the class finds attributes by findAttribute() where it has Module's __getattr__. The first
/// class is Module.
PyObject* lookUpInTables(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_SetString(PyExc_TypeError, "_look_up_in_tables(): expected a class");
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (module_getattr == nullptr) {
    const char* names[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3; ++i) tables[i] = PyUnicode_InternFromString(names[i]);
    module_getattr = PyObject_GetAttrString(cls, "__getattr__");
    python_slot = type->tp_getattro;
    if (module_getattr == nullptr) return nullptr;
  }
  const Ref plain =
      Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__"));
  if (type->tp_getattro == python_slot && finds(type, "__getattr__", module_getattr) &&
      finds(type, "__getattribute__", plain.get())) {
    type->tp_getattro = findAttribute;
    PyType_Modified(type);
  }
  Py_RETURN_NONE;
}

#else

PyObject* lookUpInTables(PyObject*, PyObject*) { Py_RETURN_NONE; }

#endif

}  // namespace

PyMethodDef module_look_up_functions[] = {
    {"_look_up_in_tables", lookUpInTables, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
