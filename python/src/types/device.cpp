#include "python/src/types/device.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/call/default_device.h"

namespace shunt::python {

namespace {

struct DeviceObject {
  PyObject_HEAD Device device;
};

extern PyTypeObject DeviceType_;

PyObject* newDevice(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *index = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:device", const_cast<char**>(names), &type, &index))
      return nullptr;
    if (!isDevice(type) && !PyUnicode_Check(type) && !PyLong_Check(type))
      raise(PyExc_TypeError, "device(): argument 'type' must be str, int or shunt.device, not " + typeNameOf(type));
    Device device = toDevice(type);
    if (index != nullptr && index != Py_None) {
      if (device.has_index())
        raise(PyExc_RuntimeError,
              "type (string) must not include an index because index was passed explicitly: " + device.str());
      const long value = PyLong_AsLong(index);
      if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
      if (value < 0 || value > 127) raise(PyExc_RuntimeError, "Device index must not be negative, nor above 127");
      device = Device(device.type(), static_cast<DeviceIndex>(value));
    }
    return wrapDevice(device);
  });
}

PyObject* repr(PyObject* self) {
  const Device d = deviceOf(self);
  const std::string type = deviceTypeName(d.type());
  return d.has_index() ? PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), int{d.index()})
                       : PyUnicode_FromFormat("device(type='%s')", type.c_str());
}
PyObject* str(PyObject* self) { return PyUnicode_FromString(deviceOf(self).str().c_str()); }
Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(std::hash<Device>()(deviceOf(self))); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!isDevice(a) || !isDevice(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((deviceOf(a) == deviceOf(b)) == (op == Py_EQ));
}

PyObject* getType(PyObject* self, void*) { return PyUnicode_FromString(deviceTypeName(deviceOf(self).type())); }
PyObject* getIndex(PyObject* self, void*) {
  const Device d = deviceOf(self);
  if (!d.has_index()) Py_RETURN_NONE;
  return PyLong_FromLong(d.index());
}
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(s))", Py_TYPE(self), deviceOf(self).str().c_str());
}

PyGetSetDef properties[] = {{"type", getType, nullptr, "'cpu', 'meta', 'cuda', ...", nullptr},
                            {"index", getIndex, nullptr, "The device's number, or None.", nullptr},
                            {}};
// `with device:`
PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    enterDevice(self);
    return Py_NewRef(self);
  });
}
PyObject* exit(PyObject*, PyObject*) {
  return guarded([&] {
    exitDevice();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"__enter__", enter, METH_NOARGS, "New tensors whose device isn't named are on this one."},
                         {"__exit__", exit, METH_VARARGS, nullptr},
                         {}};

PyTypeObject DeviceType_ = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt.device",
    .tp_basicsize = sizeof(DeviceObject),
    .tp_repr = repr,
    .tp_hash = hash,
    .tp_str = str,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc =
        "device(type, index=None)\n\nWhere a tensor's elements are: device('cpu'), device('meta'), device('cuda', 1).\n"
        "A RuntimeError for names that no backend has.",
    .tp_richcompare = compare,
    .tp_methods = methods,
    .tp_getset = properties,
    .tp_new = newDevice,
};

}  // namespace

void addDevice(PyObject* module) {
  checkStatus(PyType_Ready(&DeviceType_));
  checkStatus(PyModule_AddType(module, &DeviceType_));
}
bool isDevice(PyObject* o) { return Py_TYPE(o) == &DeviceType_; }
Device deviceOf(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }
PyObject* wrapDevice(Device device) {
  PyObject* o = check(DeviceType_.tp_alloc(&DeviceType_, 0));
  reinterpret_cast<DeviceObject*>(o)->device = device;
  return o;
}

}  // namespace shunt::python
