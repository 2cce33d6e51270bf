// shunt.Tensor: the Python object of a tensor.
//
// The type is made in two steps, so that programs can add to it and rare methods may be written in Python: TensorBase
// is static and has everything of C++, shunt.Tensor (python/shunt/_tensor.py) is a class derived from it, and what the
// binding makes. A class of a program's own derives from that.
//
// Note [One object for one tensor]
// A tensor has at most one object, and its slot foreign_object() knows it, so `x is y` holds for a tensor that comes
// back from C++. The object owns a reference to the tensor. When the last Python reference goes while C++ still has the
// tensor (a leaf in a graph, a saved argument), an object without state of its own is freed, and another one made on
// demand. One that has any (attributes, weak references, a class of a program's) changes sides: it lives on, owned by
// the tensor, and refers to it without counting, until Python sees it again or the tensor goes.
//
// Python's collector knows nothing of the references that C++ has to a tensor. An object in a cycle of its own
// attributes would be garbage to it, and lose them, though C++ still has the tensor and may show it again. So what an
// object refers to is hidden from the collector while others have the tensor: then something refers to it that can't be
// found, and it stays. Counts may change on other threads while the collector works, and it must not see two answers in
// one run, so the first answer of a run counts; gc.callbacks say when one starts.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

namespace shunt::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;            // attributes; null until there are any
  PyObject* weak_list;       // weak references
  PyObject* backward_hooks;  // the ordered dictionary of hooks that programs look at; null or owned
  uint32_t collection;       // the collector's run that `is_shared` was found in
  bool is_shared;            // whether others than this object had the tensor then
};

extern PyTypeObject TensorBaseType;
/// shunt.Tensor and shunt.nn.Parameter, once Python has made them. Both are handled without asking for
/// __torch_function__.
extern PyTypeObject* tensor_class;
extern PyTypeObject* parameter_class;

/// Makes the types ready and adds them to the module.
void addTensorType(PyObject* module);

/// Whether it is of shunt.Tensor itself, or a Parameter: all others may have handlers of their own.
inline bool isPlainTensor(PyObject* o) { return Py_TYPE(o) == tensor_class || Py_TYPE(o) == parameter_class; }
inline bool isTensor(PyObject* o) { return isPlainTensor(o) || PyObject_TypeCheck(o, &TensorBaseType); }
/// Of an object for which isTensor holds.
inline Tensor& tensorOf(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }

/// Another tensor of the same elements, without history and unknown to modes. For one that has storage.
Tensor aliasOf(const TensorImpl& t);
/// A new reference to the tensor's object; None for an undefined tensor.
PyObject* wrap(Tensor tensor);
/// An object of class `type`, derived from Tensor, for a tensor that has none yet. Throws where it has one.
PyObject* wrapAs(PyTypeObject* type, Tensor tensor);

}  // namespace shunt::python
