// Methods, properties and slots of Tensor that are written by hand, offered to __torch_function__ first. The generated
// methods offer their calls themselves.
#include "python/src/base/errors.h"
#include "python/src/dispatch/torch_function.h"
#include "python/src/types/tensor.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace shunt::python {

namespace {

bool isPlainCall(PyObject* self) { return isPlainTensor(self) && torch_function_modes == 0; }

/// Tensor's attribute of this name, whatever a derived class has.
Ref tensorAttribute(const char* name) {
  return owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&TensorBaseType), name));
}

PyObject* offerCall(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return callTorchFunctionOf(tensorAttribute(name).get(), {self, args, n, names});
}

// ---- methods ----------------------------------------------------------------------------------------------------

constexpr size_t kMaxMethods = 256;
std::array<PyMethodDef, kMaxMethods> originals;
size_t num_originals = 0;

Ref tupleOf(PyObject* const* args, Py_ssize_t n) {
  Ref tuple = owned(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  return tuple;
}
Ref dictOf(PyObject* const* values, PyObject* names) {
  if (names == nullptr || PyTuple_GET_SIZE(names) == 0) return {};
  Ref dict = owned(PyDict_New());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    checkStatus(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(names, i), values[i]));
  return dict;
}

PyObject* callOriginal(const PyMethodDef& m, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const bool keywords = names != nullptr && PyTuple_GET_SIZE(names) > 0;
  if (keywords && (m.ml_flags & METH_KEYWORDS) == 0)
    raise(PyExc_TypeError, std::string("Tensor.") + m.ml_name + "() takes no keyword arguments");
  void* const f = reinterpret_cast<void*>(m.ml_meth);
  switch (m.ml_flags & (METH_VARARGS | METH_KEYWORDS | METH_FASTCALL | METH_NOARGS | METH_O)) {
    case METH_NOARGS:
      if (n != 0)
        raise(PyExc_TypeError,
              std::string("Tensor.") + m.ml_name + "() takes no arguments (" + std::to_string(n) + " given)");
      return m.ml_meth(self, nullptr);
    case METH_O:
      if (n != 1)
        raise(PyExc_TypeError,
              std::string("Tensor.") + m.ml_name + "() takes exactly one argument (" + std::to_string(n) + " given)");
      return m.ml_meth(self, args[0]);
    case METH_VARARGS:
      return m.ml_meth(self, tupleOf(args, n).get());
    case METH_VARARGS | METH_KEYWORDS:
      return reinterpret_cast<PyCFunctionWithKeywords>(f)(self, tupleOf(args, n).get(), dictOf(args + n, names).get());
    case METH_FASTCALL:
      return reinterpret_cast<PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t)>(f)(self, args, n);
    default:
      return reinterpret_cast<PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)>(f)(self, args, n,
                                                                                                    names);
  }
}

template <size_t I>
PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    const PyMethodDef& m = originals[I];
    if (!isPlainCall(self)) [[unlikely]]
      if (PyObject* result = offerCall(m.ml_name, self, args, n, names)) return result;
    return callOriginal(m, self, args, n, names);
  });
}

using FastMethod = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <size_t... I>
constexpr std::array<FastMethod, sizeof...(I)> makeMethods(std::index_sequence<I...>) {
  return {&method<I>...};
}
constexpr auto entry_points = makeMethods(std::make_index_sequence<kMaxMethods>());

bool isListed(const PyMethodDef* list, PyCFunction method) {
  for (; list->ml_name != nullptr; ++list)
    if (list->ml_meth == method) return true;
  return false;
}

void offerMethods(PyMethodDef* methods, const PyMethodDef* handled) {
  // By these, handlers themselves do their work.
  constexpr std::string_view kNever[] = {"as_subclass", "_make_subclass", "_make_wrapper_subclass",
                                         "__torch_function__"};
  for (PyMethodDef* m = methods; m->ml_name != nullptr; ++m) {
    const bool never = std::find(std::begin(kNever), std::end(kNever), m->ml_name) != std::end(kNever);
    if (never || (m->ml_flags & (METH_STATIC | METH_CLASS)) != 0 || isListed(handled, m->ml_meth)) continue;
    if (num_originals == kMaxMethods)
      raise(PyExc_SystemError, "shunt.Tensor has more methods than kMaxMethods in torch_function_type.cpp");
    originals[num_originals] = *m;
    m->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry_points[num_originals++]));
    m->ml_flags = METH_FASTCALL | METH_KEYWORDS;
  }
}

// ---- properties -------------------------------------------------------------------------------------------------

const PyGetSetDef& definition(void* closure) { return *static_cast<const PyGetSetDef*>(closure); }

PyObject* accessor(const PyGetSetDef& d, const char* which) {
  return check(PyObject_GetAttrString(tensorAttribute(d.name).get(), which));
}

PyObject* getProperty(PyObject* self, void* closure) {
  const PyGetSetDef& d = definition(closure);
  if (isPlainCall(self)) [[likely]]
    return d.get(self, d.closure);
  return guarded([&] {
    const Ref function = Ref::steal(accessor(d, "__get__"));
    if (PyObject* result = callTorchFunctionOf(function.get(), {self, nullptr, 0, nullptr})) return result;
    return d.get(self, d.closure);
  });
}

int setProperty(PyObject* self, PyObject* value, void* closure) {
  const PyGetSetDef& d = definition(closure);
  if (isPlainCall(self)) [[likely]]
    return d.set(self, value, d.closure);
  return guardedStatus([&] {
    const Ref function = Ref::steal(accessor(d, value != nullptr ? "__set__" : "__delete__"));
    PyObject* const args[] = {value};
    const Ref result = Ref::steal(callTorchFunctionOf(function.get(), {self, args, value != nullptr ? 1 : 0, nullptr}));
    return result ? 0 : d.set(self, value, d.closure);
  });
}

void offerProperties(PyGetSetDef* properties) {
  for (PyGetSetDef* p = properties; p->name != nullptr; ++p) {
    auto* original = new PyGetSetDef(*p);
    if (p->get != nullptr) p->get = getProperty;
    if (p->set != nullptr) p->set = setProperty;
    p->closure = original;
  }
}

// ---- slots ------------------------------------------------------------------------------------------------------

PyMappingMethods mapping;
PyNumberMethods number;

/// f(self) through the handlers of the method of that name.
template <auto original, class Slots, Slots& slots>
PyObject* unarySlot(PyObject* self, const char* name) {
  if (isPlainCall(self)) [[likely]]
    return (slots.*original)(self);
  return guarded([&] {
    if (PyObject* result = offerCall(name, self, nullptr, 0, nullptr)) return result;
    return (slots.*original)(self);
  });
}

PyObject* getItem(PyObject* self, PyObject* key) {
  if (isPlainCall(self)) [[likely]]
    return mapping.mp_subscript(self, key);
  return guarded([&] {
    PyObject* const args[] = {key};
    if (PyObject* result = offerCall("__getitem__", self, args, 1, nullptr)) return result;
    return mapping.mp_subscript(self, key);
  });
}
int setItem(PyObject* self, PyObject* key, PyObject* value) {
  if (isPlainCall(self) || value == nullptr) [[likely]]
    return mapping.mp_ass_subscript(self, key, value);
  return guardedStatus([&] {
    PyObject* const args[] = {key, value};
    const Ref result = Ref::steal(offerCall("__setitem__", self, args, 2, nullptr));
    return result ? 0 : mapping.mp_ass_subscript(self, key, value);
  });
}
Py_ssize_t length(PyObject* self) {
  if (isPlainCall(self)) [[likely]]
    return mapping.mp_length(self);
  try {
    const Ref result = Ref::steal(offerCall("__len__", self, nullptr, 0, nullptr));
    if (!result) return mapping.mp_length(self);
    const Py_ssize_t n = PyLong_AsSsize_t(result.get());
    return n == -1 && PyErr_Occurred() != nullptr ? -1 : n;
  } catch (...) {
    setErrorFromCurrentException();
    return -1;
  }
}
int isTrue(PyObject* self) {
  if (isPlainCall(self)) [[likely]]
    return number.nb_bool(self);
  return guardedStatus([&] {
    const Ref result = Ref::steal(offerCall("__bool__", self, nullptr, 0, nullptr));
    return result ? PyObject_IsTrue(result.get()) : number.nb_bool(self);
  });
}
PyObject* toInt(PyObject* self) {
  return unarySlot<&PyNumberMethods::nb_int, PyNumberMethods, number>(self, "__int__");
}
PyObject* toFloat(PyObject* self) {
  return unarySlot<&PyNumberMethods::nb_float, PyNumberMethods, number>(self, "__float__");
}
PyObject* toIndex(PyObject* self) {
  return unarySlot<&PyNumberMethods::nb_index, PyNumberMethods, number>(self, "__index__");
}

void offerSlots(PyTypeObject& type) {
  mapping = *type.tp_as_mapping;
  PyMappingMethods& m = *type.tp_as_mapping;
  if (m.mp_subscript != nullptr) m.mp_subscript = getItem;
  if (m.mp_ass_subscript != nullptr) m.mp_ass_subscript = setItem;
  if (m.mp_length != nullptr) m.mp_length = length;
  number = *type.tp_as_number;
  PyNumberMethods& n = *type.tp_as_number;
  if (n.nb_bool != nullptr) n.nb_bool = isTrue;
  if (n.nb_int != nullptr) n.nb_int = toInt;
  if (n.nb_float != nullptr) n.nb_float = toFloat;
  if (n.nb_index != nullptr) n.nb_index = toIndex;
}

}  // namespace

void offerToTorchFunction(PyTypeObject& type, const PyMethodDef* handled) {
  offerMethods(type.tp_methods, handled);
  offerProperties(type.tp_getset);
  offerSlots(type);
}

}  // namespace shunt::python
