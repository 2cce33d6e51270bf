#include "python/src/call/default_device.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/types/device.h"

#include <vector>

namespace shunt::python {

namespace {

// What new tensors get. The references are the two below's.
thread_local PyObject* current = nullptr;

/// A thread's settings: the one for all, and those of blocks. Never freed, as a thread may end after the interpreter.
struct Devices {
  Ref general;
  std::vector<Ref> blocks;
};
Devices& devices() {
  thread_local Devices& mine = *new Devices();
  return mine;
}

void choose() {
  const Devices& d = devices();
  current = d.blocks.empty() ? d.general.get() : d.blocks.back().get();
}

PyObject* getDefaultDevice(PyObject*, PyObject*) {
  return guarded([] { return current != nullptr ? Py_NewRef(current) : wrapDevice(Device(kCPU)); });
}

PyObject* setDefaultDevice(PyObject*, PyObject* device) {
  return guarded([&] {
    if (device != Py_None && !isDevice(device) && !PyUnicode_Check(device) && !PyLong_Check(device))
      raise(PyExc_TypeError, "set_default_device(): argument 'device' must be shunt.device, str, int or None, not " +
                                 typeNameOf(device));
    devices().general = device == Py_None ? Ref() : owned(wrapDevice(toDevice(device)));
    choose();
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyObject* defaultDevice() { return current; }

void enterDevice(PyObject* device) {
  devices().blocks.push_back(Ref::borrow(device));
  choose();
}

void exitDevice() {
  if (!devices().blocks.empty()) devices().blocks.pop_back();
  choose();
}

PyMethodDef default_device_functions[] = {
    {"get_default_device", getDefaultDevice, METH_NOARGS,
     "get_default_device() -> device\n\nThe device of this thread's new tensors whose device isn't named."},
    {"set_default_device", setDefaultDevice, METH_O,
     "set_default_device(device)\n\nSets the device of this thread's new tensors whose device isn't named; None for "
     "the\n"
     "CPU. `with shunt.device(...):` sets it for a block."},
    {},
};

}  // namespace shunt::python
