#include "python/src/dispatch/subclasses.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/dispatch/modes.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/interpose/kernel_class.h>
#include <shunt/transforms/fake_tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace shunt::python {

namespace {

PyTypeObject* fake_class = nullptr;

PyObject* dispatchName() {
  static PyObject* const name = check(PyUnicode_InternFromString("__torch_dispatch__"));
  return name;
}

/// The class of a tensor, for the dispatcher.
class PythonClass final : public KernelClass {
 public:
  PythonClass(PyTypeObject* type, PyObject* attributes)
      : type_(reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)))),
        attributes_(Py_NewRef(attributes)) {}
  ~PythonClass() override {
    if (!isInterpreterAlive()) return;
    const Gil gil;
    drop(reinterpret_cast<PyObject*>(type_));
    drop(attributes_);
  }
  PythonClass(const PythonClass&) = delete;
  PythonClass& operator=(const PythonClass&) = delete;

  void handle(const OperatorHandle& op, Stack* stack) override { handleBySubclasses(op, stack); }
  std::string name() const override { return type_->tp_name; }
  PyTypeObject* type() const { return type_; }
  PyObject* attributes() const { return attributes_; }

 private:
  PyTypeObject* const type_;
  PyObject* const attributes_;  // the object's dictionary
};

const PythonClass* classOf(const Tensor& t) {
  if (!t.key_set().has(Functionality::PythonKernel)) return nullptr;
  return dynamic_cast<const PythonClass*>(kernel_class_of(t).get());
}

/// Classes among the arguments, each once, a derived one before its base.
std::vector<PyTypeObject*> classesOf(const IValue* arguments, size_t n) {
  std::vector<PyTypeObject*> found;
  for (size_t i = 0; i < n; ++i)
    forEachTensor(arguments[i], [&](const Tensor& t) {
      const PythonClass* c = classOf(t);
      if (c == nullptr || std::find(found.begin(), found.end(), c->type()) != found.end()) return;
      const auto base = std::find_if(found.begin(), found.end(),
                                     [&](PyTypeObject* f) { return PyType_IsSubtype(c->type(), f) != 0; });
      found.insert(base, c->type());
    });
  return found;
}

Ref tupleOf(const std::vector<PyTypeObject*>& types) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(types.size())));
  for (size_t i = 0; i < types.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(reinterpret_cast<PyObject*>(types[i])));
  return tuple;
}

[[noreturn]] SHUNT_COLD void raiseDeclined(const OperatorHandle& op, const std::vector<PyTypeObject*>& types) {
  std::string text =
      fmt::format("Multiple dispatch failed for '{}'; all __torch_dispatch__ handlers returned NotImplemented:\n",
                  op.operator_name().str());
  for (PyTypeObject* t : types) text += fmt::format("\n  - tensor subclass {}", reprOf(reinterpret_cast<PyObject*>(t)));
  raise(PyExc_TypeError, text);
}

// ---- making them -------------------------------------------------------------------------------------------------

PyObject* disabled_impl = nullptr;  // _disabled_torch_dispatch_impl, which is Tensor's

bool hasDispatch(PyTypeObject* type) {
  const Ref own = Ref::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), dispatchName()));
  if (own) return own.get() != disabled_impl && own.get() != Py_None;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
  PyErr_Clear();
  return false;
}

/// func(*args, **kwargs) for the tensors that the classes' objects are, so that a handler can call its base's.
PyObject* disabledImpl(PyObject*, PyObject* given) {
  PyObject *function = nullptr, *types = nullptr, *arguments = nullptr, *keywords = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO", &function, &types, &arguments, &keywords)) return nullptr;
  const Ref list = Ref::steal(arguments != nullptr ? PySequence_Tuple(arguments) : PyTuple_New(0));
  const ExcludeDispatchKeyGuard without_classes(DispatchKey::PythonKernel);
  return list ? PyObject_Call(function, list.get(), keywords == Py_None ? nullptr : keywords) : nullptr;
}

PyTypeObject* classArgument(PyObject* cls) {
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &TensorBaseType))
    raise(PyExc_TypeError,
          "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
          "class "
          "inherits from Tensor.");
  return reinterpret_cast<PyTypeObject*>(cls);
}

/// An object of the class for a tensor that `make` makes of the dispatcher's side of the class.
template <class Make>
PyObject* objectOf(PyTypeObject* type, Make&& make) {
  const Ref attributes = owned(PyDict_New());
  Ref object = owned(wrapAs(type, make(std::make_shared<PythonClass>(type, attributes.get()))));
  auto* o = reinterpret_cast<TensorObject*>(object.get());
  Py_XSETREF(o->dict, Py_NewRef(attributes.get()));
  if (!PyObject_GC_IsTracked(object.get())) PyObject_GC_Track(object.get());
  return object.release();
}

/// (cls, data, require_grad)
PyObject* makeSubclass(PyObject*, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    PyObject *cls = nullptr, *data = nullptr;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|p:_make_subclass", const_cast<char**>(names), &cls, &data,
                                     &requires_grad))
      return nullptr;
    PyTypeObject* const type = classArgument(cls);
    if (!isTensor(data))
      raise(PyExc_TypeError, "_make_subclass(): argument 'data' must be Tensor, not " + typeNameOf(data));
    const Tensor& t = tensorOf(data);
    Ref object = Ref::steal(
        hasDispatch(type)
            ? objectOf(type,
                       [&](auto of) { return with_class(std::move(of), classOf(t) != nullptr ? without_class(t) : t); })
            : wrapAs(type, t.detach()));
    if (requires_grad != 0) tensorOf(object.get()).set_requires_grad(true);
    return object.release();
  });
}

std::vector<int64_t> intsOf(PyObject* o, const char* what) {
  std::vector<int64_t> out;
  const Ref list = owned(PySequence_Fast(o, what));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    out.push_back(toInt(Parameter{}, PySequence_Fast_ITEMS(list.get())[i]));
  return out;
}

/// (cls, size, *, strides, storage_offset, dtype, layout, device, requires_grad, ...)
PyObject* makeWrapperSubclass(PyObject*, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"cls",
                                  "size",
                                  "strides",
                                  "storage_offset",
                                  "memory_format",
                                  "dtype",
                                  "layout",
                                  "device",
                                  "pin_memory",
                                  "requires_grad",
                                  "dispatch_sizes_strides_policy",
                                  "dispatch_device",
                                  "dispatch_layout",
                                  nullptr};
    PyObject *cls = nullptr, *size = nullptr, *strides = Py_None, *offset = Py_None, *format = Py_None,
             *dtype = Py_None, *layout = Py_None, *device = Py_None, *policy = Py_None;
    int pinned = 0, requires_grad = 0, dispatch_device = 0, dispatch_layout = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|OOO$OOOppOpp:_make_wrapper_subclass",
                                     const_cast<char**>(names), &cls, &size, &strides, &offset, &format, &dtype,
                                     &layout, &device, &pinned, &requires_grad, &policy, &dispatch_device,
                                     &dispatch_layout))
      return nullptr;
    PyTypeObject* const type = classArgument(cls);
    if (!hasDispatch(type)) raise(PyExc_TypeError, std::string(type->tp_name) + " must define __torch_dispatch__");
    if (policy != Py_None || dispatch_device != 0 || dispatch_layout != 0)
      raise(PyExc_NotImplementedError,
            "_make_wrapper_subclass(): sizes, strides and device of a wrapper are those that it was made with; "
            "dispatch_sizes_strides_policy, dispatch_device and dispatch_layout are not available");
    const std::vector<int64_t> sizes = intsOf(size, "_make_wrapper_subclass(): argument 'size' must be tuple of ints");
    const std::vector<int64_t> steps =
        strides == Py_None ? std::vector<int64_t>()
                           : intsOf(strides, "_make_wrapper_subclass(): argument 'strides' must be tuple of ints");
    if (dtype != Py_None && !isDType(dtype))
      raise(PyExc_TypeError,
            "_make_wrapper_subclass(): argument 'dtype' must be shunt.dtype, not " + typeNameOf(dtype));
    TensorOptions options = TensorOptions()
                                .dtype(dtype == Py_None ? get_default_dtype() : dtypeOf(dtype))
                                .device(device == Py_None ? Device(kCPU) : toDevice(device));
    const int64_t start = offset == Py_None ? 0 : toInt(Parameter{}, offset);
    Ref object = Ref::steal(
        objectOf(type, [&](auto of) { return make_class_tensor(std::move(of), sizes, steps, start, options); }));
    if (requires_grad != 0) tensorOf(object.get()).set_requires_grad(true);
    return object.release();
  });
}

/// (self, cls)
PyObject* asSubclass(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *self = nullptr, *cls = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &self, &cls)) return nullptr;
    return aliasOfClass(classArgument(cls), tensorOf(self));
  });
}

PyObject* setFakeClass(PyObject*, PyObject* cls) {
  fake_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

/// Whether a tensor is a wrapper: its class knows its elements, if it has any.
PyObject* isWrapper(PyObject*, PyObject* o) {
  return guarded([&] {
    return PyBool_FromLong(isTensor(o) && tensorOf(o).key_set().has(Functionality::PythonKernel) &&
                           !tensorOf(o).key_set().has(Functionality::Dense));
  });
}

PyTypeObject* fakeClass() {
  if (fake_class == nullptr) Py_XDECREF(PyImport_ImportModule("shunt._subclasses.fake_tensor"));
  return fake_class;
}

PyCFunction withKeywords(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {
    {"_make_subclass", withKeywords(makeSubclass), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_make_wrapper_subclass", withKeywords(makeWrapperSubclass), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_as_subclass", asSubclass, METH_VARARGS, nullptr},
    {"_is_wrapper_subclass", isWrapper, METH_O, nullptr},
    {"_set_fake_class", setFakeClass, METH_O, nullptr},
    {"_disabled_torch_dispatch_impl", disabledImpl, METH_VARARGS,
     "For classes derived from Tensor that handle no operators: __torch_dispatch__ = "
     "shunt._C._disabled_torch_dispatch_impl."},
    {},
};

}  // namespace

PyObject* wrapOfClass(Tensor tensor) {
  if (const PythonClass* c = classOf(tensor)) {
    const Ref attributes = owned(PyDict_Copy(c->attributes()));
    PyTypeObject* const type = c->type();
    Ref object = owned(wrapAs(type, std::move(tensor)));
    Py_XSETREF(reinterpret_cast<TensorObject*>(object.get())->dict, Py_NewRef(attributes.get()));
    if (!PyObject_GC_IsTracked(object.get())) PyObject_GC_Track(object.get());
    return object.release();
  }
  if (is_fake(tensor))
    if (PyTypeObject* type = fakeClass()) return wrapAs(type, std::move(tensor));
  PyErr_Clear();
  return wrapAs(tensor_class, std::move(tensor));
}

PyObject* aliasOfClass(PyTypeObject* type, const Tensor& tensor) {
  if (hasDispatch(type) && classOf(tensor) == nullptr)
    return objectOf(type, [&](auto of) { return with_class(std::move(of), tensor); });
  return wrapAs(type, tensor.alias());
}

PyObject* dataOfClass(const Tensor& tensor) {
  if (!tensor.key_set().has(Functionality::PythonKernel)) return wrap(tensor.data());
  return wrap(tensor.key_set().has(Functionality::Dense) ? without_class(tensor) : tensor.detach());
}

Ref subclassTypes(const IValue* arguments, size_t n) {
  const std::vector<PyTypeObject*> found = classesOf(arguments, n);
  return found.empty() ? Ref() : tupleOf(found);
}

bool handleBySubclasses(const OperatorHandle& op, Stack* stack) {
  const Gil gil;
  OpOverloadObject* const object = operatorObject(op.op());
  const PreparedSchema& schema = preparedOf(*object);
  const size_t n = schema.schema.arguments().size();
  const IValue* const arguments = stack->data() + (stack->size() - n);
  const std::vector<PyTypeObject*> found = classesOf(arguments, n);
  if (found.empty()) return false;
  const Ref types = tupleOf(found);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types.get()); ++i) {
    PyObject* const cls = PyTuple_GET_ITEM(types.get(), i);
    const Ref returned = askTorchDispatch(cls, object, types.get(), arguments);
    if (returned.get() == Py_NotImplemented) continue;
    replaceByReturned(schema, returned.get(), stack, [&] {
      return fmt::format("{}.__torch_dispatch__", reinterpret_cast<PyTypeObject*>(cls)->tp_name);
    });
    return true;
  }
  raiseDeclined(op, found);
}

void addSubclasses(PyObject* module) {
  checkStatus(PyModule_AddFunctions(module, functions));
  disabled_impl = check(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl"));
}

}  // namespace shunt::python
