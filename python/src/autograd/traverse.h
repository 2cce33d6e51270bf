// What Python's collector can't see by itself: objects that a tensor holds through C++.
//
// Note [Circles through graphs]
// A tensor owns its grad_fn, whose custom function's context, hooks and metadata are Python objects, and these may
// refer to the tensor. The collector finds such a circle only if the tensor shows it the objects, and may show only
// what no one else holds: where others have the tensor or its node, they may still use the objects. So a tensor shows
// those of a node that is its alone, and a tensor that others have shows nothing, its attributes neither.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

namespace shunt::python {

/// Shows what the tensor's graph holds. For a tensor that nothing but its object has.
int visitHistory(const Tensor& t, visitproc visit, void* arg);

/// From now on the collector looks at the tensor's object.
inline void trackTensor(PyObject* o) {
  if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

}  // namespace shunt::python
