// Lets Python's garbage collector see what objects of C++ refer to. A method that captures itself is a cycle through a
// recording: agent.step, its guards, agent. All such cycles pass through a dict of Python's, where they are broken.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

/// For py::class_<T, ...>: T::traverse(visit, arg) visits each reference to Python that a T owns, once.
template <class T>
py::custom_type_setup isTraversed() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    heap_type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    heap_type->ht_type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
      Py_VISIT(Py_TYPE(self));
      const auto held = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
      if (!held.holder_constructed()) return 0;
      return static_cast<const T*>(held.value_ptr())->traverse(visit, arg);
    };
  });
}

}  // namespace shunt_torch
