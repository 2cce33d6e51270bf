// What the type Tensor is made of, besides the generated methods. Each table stands in the file of its topic.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef tensor_value_methods[];       // tensor_values.cpp: item, tolist, bool, int, float, len
extern PyMethodDef tensor_value_functions[];     // tensor_values.cpp: what printing is made of
extern PyMethodDef tensor_metadata_methods[];    // tensor_metadata.cpp: size, stride, dim, data_ptr, ...
extern PyMethodDef tensor_autograd_methods[];    // autograd/tensor_autograd.cpp: backward, hooks, ...
extern PyMethodDef tensor_conversion_methods[];  // tensor_conversions.cpp: to, float, cpu, ...

extern PyGetSetDef tensor_metadata_properties[];
extern PyGetSetDef tensor_autograd_properties[];

extern PyNumberMethods tensor_number_methods;    // tensor_numbers.cpp
extern PyMappingMethods tensor_mapping_methods;  // indexing/tensor_indexing.cpp
PyObject* compareTensors(PyObject* a, PyObject* b, int op);

/// cls(...) of a class derived from TensorBase.
PyObject* makeTensorOfClass(PyTypeObject* type, PyObject* arguments, PyObject* keywords);
extern PyMethodDef tensor_class_functions[];  // tensor_new.cpp: _alias_of_class

}  // namespace shunt::python
