#include "python/src/dispatch/torch_function.h"

#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <fmt/format.h>

#include <vector>

namespace shunt::python {

int torch_function_modes = 0;

namespace {

enum class State : uint8_t { kOn, kWithoutSubclasses, kOff };
thread_local State state = State::kOn;
thread_local std::vector<PyObject*> modes;  // owned; the innermost is the last

bool anyModes() { return torch_function_modes > 0 && state != State::kOff && !modes.empty(); }

PyObject* interned(const char* text) { return check(PyUnicode_InternFromString(text)); }
PyObject* attributeName() {
  static PyObject* const name = interned("__torch_function__");
  return name;
}

// ---- which arguments have a handler -----------------------------------------------------------------------------

PyObject* disabled_impl = nullptr;  // _disabled_torch_function_impl

bool isOfNoInterest(PyObject* o) {
  return o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) || PyBool_Check(o) ||
         PyDict_CheckExact(o) || PyType_Check(o) || isPlainTensor(o);
}

bool hasHandler(PyObject* o) {
  if (isOfNoInterest(o)) return false;
  const Ref handler = Ref::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), attributeName()));
  if (!handler) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
    PyErr_Clear();
    return false;
  }
  return handler.get() != disabled_impl;
}

using Overloaded = std::vector<Ref>;  // held: a handler may take them out of the list that they came in

void addOverloaded(PyObject* o, Overloaded& all) {
  if (!hasHandler(o)) return;
  size_t place = all.size();
  for (size_t i = 0; i < all.size(); ++i) {
    if (Py_TYPE(all[i].get()) == Py_TYPE(o)) return;
    if (place == all.size() && PyType_IsSubtype(Py_TYPE(o), Py_TYPE(all[i].get()))) place = i;
  }
  all.insert(all.begin() + static_cast<ptrdiff_t>(place), Ref::borrow(o));
}

void collect(PyObject* o, Overloaded& all) {
  if (isOfNoInterest(o)) return;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) addOverloaded(PySequence_Fast_ITEMS(o)[i], all);
  } else {
    addOverloaded(o, all);
  }
}

Overloaded overloadedOf(const Call& call) {
  Overloaded all;
  if (state != State::kOn) return all;
  if (call.self != nullptr) collect(call.self, all);
  const Py_ssize_t num_keywords = call.keyword_names != nullptr ? PyTuple_GET_SIZE(call.keyword_names) : 0;
  for (Py_ssize_t i = 0; i < call.num_args + num_keywords; ++i) collect(call.args[i], all);
  return all;
}

// ---- the call of handlers ---------------------------------------------------------------------------------------

Ref typesOf(const Overloaded& all) {
  Ref types = owned(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (size_t i = 0; i < all.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(all[i].get()))));
  return types;
}

/// The innermost mode, off for a scope.
class WithoutInnermost {
 public:
  WithoutInnermost() : mode_(modes.back()) {
    modes.pop_back();
    --torch_function_modes;
  }
  ~WithoutInnermost() {
    modes.push_back(mode_);
    ++torch_function_modes;
  }
  WithoutInnermost(const WithoutInnermost&) = delete;
  WithoutInnermost& operator=(const WithoutInnermost&) = delete;
  PyObject* mode() const { return mode_; }

 private:
  PyObject* const mode_;
};

std::string describeFunction(PyObject* function) {
  const auto textOf = [&](const char* attribute) -> std::string {
    const Ref text = Ref::steal(PyObject_GetAttrString(function, attribute));
    if (!text || !PyUnicode_Check(text.get())) {
      PyErr_Clear();
      return "";
    }
    return utf8(text.get());
  };
  const std::string name = textOf("__name__"), qualified = textOf("__qualname__");
  return qualified.starts_with("TensorBase.") ? "shunt.Tensor." + name : "shunt." + name;
}

[[noreturn]] SHUNT_COLD void raiseAllDeclined(PyObject* function, const Overloaded& all, bool asked_mode) {
  std::string text =
      fmt::format("Multiple dispatch failed for '{}'; all __torch_function__ handlers returned NotImplemented:\n",
                  describeFunction(function));
  if (asked_mode) text += "\n  - a TorchFunctionMode";
  for (const Ref& o : all)
    text += fmt::format("\n  - {} {}", isTensor(o.get()) ? "tensor subclass" : "class",
                        reprOf(reinterpret_cast<PyObject*>(Py_TYPE(o.get()))));
  raise(PyExc_TypeError, text);
}

/// The first answer other than NotImplemented; `keywords` may be null.
PyObject* askAll(PyObject* function, const Overloaded& all, PyObject* types, PyObject* arguments, PyObject* keywords,
                 bool or_not_implemented) {
  const bool with_mode = anyModes();
  const auto ask = [&](PyObject* whom) {
    PyObject* given[] = {whom, function, types, arguments, keywords};
    return owned(PyObject_VectorcallMethod(attributeName(), given, keywords != nullptr ? 5 : 4, nullptr));
  };
  if (with_mode) {
    const WithoutInnermost without;
    Ref answer = ask(without.mode());
    if (answer.get() != Py_NotImplemented) return answer.release();
  }
  for (const Ref& o : all) {
    Ref answer = ask(o.get());
    if (answer.get() != Py_NotImplemented) return answer.release();
  }
  if (or_not_implemented) Py_RETURN_NOTIMPLEMENTED;
  raiseAllDeclined(function, all, with_mode);
}

PyObject* offer(PyObject* function, const Call& call, const Overloaded& all) {
  const Py_ssize_t offset = call.self != nullptr ? 1 : 0;
  const Ref arguments = owned(PyTuple_New(call.num_args + offset));
  if (call.self != nullptr) PyTuple_SET_ITEM(arguments.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t i = 0; i < call.num_args; ++i) PyTuple_SET_ITEM(arguments.get(), i + offset, Py_NewRef(call.args[i]));
  Ref keywords;
  if (call.keyword_names != nullptr && PyTuple_GET_SIZE(call.keyword_names) > 0) {
    keywords = owned(PyDict_New());
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(call.keyword_names); ++k)
      checkStatus(
          PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.keyword_names, k), call.args[call.num_args + k]));
  }
  const Ref types = typesOf(all);
  return askAll(function, all, types.get(), arguments.get(), keywords.get(), call.or_not_implemented);
}

/// The object by which programs know what is called: shunt.add, Tensor.add, and Tensor.__rsub__ of 1 - x.
Ref functionOf(const Entry& entry, const Call& call) {
  if (call.self == nullptr && !call.or_not_implemented) {
    // The package's own functions, or those of a module of it, such as nn's.
    const Ref package = owned(PyImport_ImportModule("shunt._C"));
    for (const ModuleFunctions* m = generated_modules; m->name != nullptr; ++m) {
      const Ref functions = owned(PyObject_GetAttrString(package.get(), m->name));
      if (Ref found = Ref::steal(PyObject_GetAttrString(functions.get(), entry.name()))) return found;
      PyErr_Clear();
    }
  }
  auto* cls = reinterpret_cast<PyObject*>(tensor_class);
  if (call.or_not_implemented && std::string_view(entry.name()) == "rsub")
    return owned(PyObject_GetAttrString(cls, "__rsub__"));
  return owned(PyObject_GetAttrString(cls, entry.name()));
}

}  // namespace

const char* whyUnusualTorchFunction() {
  if (state != State::kOn) [[unlikely]]
    return "handlers of calls were off (DisableTorchFunctionSubclass, DisableTorchFunction)";
  return anyModes() ? "a TorchFunctionMode was on" : nullptr;
}

PyObject* callTorchFunction(Entry& entry, const Call& call) {
  const Overloaded all = overloadedOf(call);
  if (all.empty() && !anyModes()) return nullptr;
  return offer(functionOf(entry, call).get(), call, all);
}

PyObject* callTorchFunctionOf(PyObject* function, const Call& call) {
  const Overloaded all = overloadedOf(call);
  if (all.empty() && !anyModes()) return nullptr;
  return offer(function, call, all);
}

// ---- Python's side ----------------------------------------------------------------------------------------------

namespace {

PyObject* hasTorchFunction(PyObject*, PyObject* objects) {
  return guarded([&]() -> PyObject* {
    if (anyModes()) Py_RETURN_TRUE;
    if (state != State::kOn) Py_RETURN_FALSE;
    const Ref list = owned(PySequence_Fast(objects, "has_torch_function(): expected a sequence of objects"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
      if (hasHandler(PySequence_Fast_ITEMS(list.get())[i])) Py_RETURN_TRUE;
    Py_RETURN_FALSE;
  });
}
PyObject* hasTorchFunctionUnary(PyObject*, PyObject* object) {
  return guarded([&] { return PyBool_FromLong(anyModes() || (state == State::kOn && hasHandler(object))); });
}
PyObject* hasTorchFunctionVariadic(PyObject*, PyObject* const* objects, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (anyModes()) Py_RETURN_TRUE;
    for (Py_ssize_t i = 0; state == State::kOn && i < n; ++i)
      if (hasHandler(objects[i])) Py_RETURN_TRUE;
    Py_RETURN_FALSE;
  });
}

/// (function, relevant arguments, arguments, keywords)
PyObject* handle(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *relevant = nullptr, *arguments = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(given, "OOO!O!", &function, &relevant, &PyTuple_Type, &arguments, &PyDict_Type, &keywords))
      return nullptr;
    Overloaded all;
    const Ref list = owned(PySequence_Fast(relevant, "handle_torch_function(): expected a sequence of arguments"));
    if (state == State::kOn)
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
        addOverloaded(PySequence_Fast_ITEMS(list.get())[i], all);
    return askAll(function, all, typesOf(all).get(), arguments, keywords, false);
  });
}

PyObject* overloadedArguments(PyObject*, PyObject* relevant) {
  return guarded([&]() -> PyObject* {
    Overloaded all;
    const Ref list = owned(PySequence_Fast(relevant, "_get_overloaded_args(): expected a sequence of arguments"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
      addOverloaded(PySequence_Fast_ITEMS(list.get())[i], all);
    Ref out = owned(PyList_New(0));
    for (const Ref& o : all) checkStatus(PyList_Append(out.get(), o.get()));
    return out.release();
  });
}

PyObject* pushMode(PyObject*, PyObject* mode) {
  modes.push_back(Py_NewRef(mode));
  ++torch_function_modes;
  Py_RETURN_NONE;
}
PyObject* popMode(PyObject*, PyObject*) {
  if (modes.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "no TorchFunctionMode is on for calls on this thread");
    return nullptr;
  }
  PyObject* mode = modes.back();
  modes.pop_back();
  --torch_function_modes;
  return mode;
}
PyObject* numModes(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.size()); }
PyObject* modeAt(PyObject*, PyObject* place) {
  const Py_ssize_t i = PyLong_AsSsize_t(place);
  if (i == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (i < 0 || static_cast<size_t>(i) >= modes.size()) {
    PyErr_SetString(PyExc_IndexError, "there is no TorchFunctionMode at this place of the stack");
    return nullptr;
  }
  return Py_NewRef(modes[static_cast<size_t>(i)]);
}

PyObject* getState(PyObject*, PyObject*) { return PyLong_FromLong(static_cast<long>(state)); }
PyObject* setState(PyObject*, PyObject* value) {
  const long before = static_cast<long>(state), wanted = PyLong_AsLong(value);
  if (wanted == -1 && PyErr_Occurred() != nullptr) return nullptr;
  state = static_cast<State>(wanted);
  return PyLong_FromLong(before);
}

/// func(*args, **kwargs) without handlers of classes.
PyObject* disabledImpl(PyObject*, PyObject* given) {
  PyObject *function = nullptr, *types = nullptr, *arguments = nullptr, *keywords = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO", &function, &types, &arguments, &keywords)) return nullptr;
  const Ref none = Ref::steal(PyTuple_New(0));
  const Ref list = arguments != nullptr ? Ref::steal(PySequence_Tuple(arguments)) : none;
  if (!list) return nullptr;
  const State before = state;
  if (state == State::kOn) state = State::kWithoutSubclasses;
  PyObject* result = PyObject_Call(function, list.get(), keywords == Py_None ? nullptr : keywords);
  state = before;
  return result;
}

PyMethodDef functions[] = {
    {"_has_torch_function", hasTorchFunction, METH_O, nullptr},
    {"_has_torch_function_unary", hasTorchFunctionUnary, METH_O, nullptr},
    {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(hasTorchFunctionVariadic)),
     METH_FASTCALL, nullptr},
    {"_handle_torch_function", handle, METH_VARARGS, nullptr},
    {"_get_overloaded_args", overloadedArguments, METH_O, nullptr},
    {"_push_on_torch_function_stack", pushMode, METH_O, nullptr},
    {"_pop_torch_function_stack", popMode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", numModes, METH_NOARGS, nullptr},
    {"_get_function_stack_at", modeAt, METH_O, nullptr},
    {"_get_torch_function_state", getState, METH_NOARGS, nullptr},
    {"_set_torch_function_state", setState, METH_O, nullptr},
    {"_disabled_torch_function_impl", disabledImpl, METH_VARARGS,
     "For classes derived from Tensor whose calls are handled as Tensor's: __torch_function__ = "
     "shunt._C._disabled_torch_function_impl."},
    {},
};

}  // namespace

void addTorchFunction(PyObject* module) {
  checkStatus(PyModule_AddFunctions(module, functions));
  disabled_impl = check(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace shunt::python
