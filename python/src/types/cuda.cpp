#include "python/src/types/cuda.h"

#include "python/src/base/errors.h"

#include <shunt/device/cuda.h>

namespace shunt::python {

namespace {

PyObject* deviceCount(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromLong(cuda::device_count()); });
}

PyObject* synchronizeDevice(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const long number = PyLong_AsLong(index);
    if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
    {
      const WithoutGil unlocked;
      cuda::synchronize(static_cast<DeviceIndex>(number));
    }
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef cuda_functions[] = {
    {"_cuda_device_count", deviceCount, METH_NOARGS, nullptr},
    {"_cuda_synchronize", synchronizeDevice, METH_O, nullptr},
    {},
};

}  // namespace shunt::python
