// The getters of saved values: a member of a node's class as a Python object. For the generated table.
#pragma once

#include "python/src/autograd/node_object.h"
#include "python/src/autograd/saved_attributes.h"
#include "python/src/base/errors.h"
#include "python/src/call/results.h"
#include "python/src/types/size.h"
#include "python/src/types/tensor.h"

#include <shunt/autograd/saved_variable.h>

namespace shunt::python {

template <bool is_output>
struct SavedValue {
  const intrusive_ptr<Node>& node;

  PyObject* operator()(const autograd::SavedVariable& v) const {
    return v.was_default_constructed() ? Py_NewRef(Py_None) : wrap(v.unpack(is_output ? node : nullptr));
  }
  PyObject* operator()(const std::vector<autograd::SavedVariable>& list) const {
    const Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
    for (size_t i = 0; i < list.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check((*this)(list[i])));
    return Py_NewRef(tuple.get());
  }
  PyObject* operator()(const std::vector<int64_t>& list) const { return wrapInts(list); }
  PyObject* operator()(const std::string& text) const {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  template <class T>
  PyObject* operator()(const std::optional<T>& value) const {
    return value ? (*this)(*value) : Py_NewRef(Py_None);
  }
  template <class T>
  PyObject* operator()(const T& value) const {
    return wrapResult(value);
  }
};

template <auto member, bool is_output>
PyObject* getSaved(PyObject* self, void*) {
  return guarded([&] {
    const intrusive_ptr<Node> node = nodeOf(self);
    const auto get = [&]<class Class, class T>(T Class::* m) {
      return SavedValue<is_output>{node}(static_cast<const Class&>(*node).*m);
    };
    return get(member);
  });
}

}  // namespace shunt::python
