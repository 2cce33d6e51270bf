#include "python/src/compile/specialization.h"

#include "python/src/base/errors.h"
#include "python/src/base/wording.h"
#include "python/src/call/default_device.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>
#include <shunt/trace/graph.h>

namespace shunt::python {

TensorFacts::TensorFacts(PyObject* o) : object(Ref::borrow(o)) {
  const Tensor& t = tensorOf(o);
  keys = t.key_set().raw();
  dtype = t.dtype();
  requires_grad = t.requires_grad();
  for (const int64_t n : t.sizes()) sizes.push_back(n);
  for (const int64_t n : t.strides()) strides.push_back(n);
}

bool TensorFacts::hold() const {
  const Tensor& t = tensorOf(object.get());
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  const auto same = [](IntArrayRef a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  };
  return impl.key_set().raw() == keys && impl.dtype() == dtype && same(impl.sizes(), sizes) &&
         same(impl.strides(), strides) && t.requires_grad() == requires_grad;
}

namespace {

Device deviceOfNewTensors() {
  PyObject* const device = defaultDevice();
  return device != nullptr ? deviceOf(device) : Device(kCPU);
}

}  // namespace

int64_t Specialization::firstFailed() const {
  const int64_t failed = guards.firstFailed();
  if (failed >= 0) return failed;
  for (const TensorFacts& t : tensors)
    if (!t.hold()) return static_cast<int64_t>(guards.size());
  return deviceOfNewTensors() == device ? -1 : static_cast<int64_t>(guards.size() + 1);
}

namespace {

Specialization& of(PyObject* self) { return specializationOf(self); }

/// A call as Python sees it, for as long as the tuple and dict live.
class CallOf {
 public:
  CallOf(PyObject* args, PyObject* kwargs) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) values_.push_back(PyTuple_GET_ITEM(args, i));
    count_ = values_.size();
    if (PyDict_GET_SIZE(kwargs) == 0) return;
    names_ = owned(PyTuple_New(PyDict_GET_SIZE(kwargs)));
    Py_ssize_t at = 0, i = 0;
    for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(kwargs, &at, &key, &value); ++i) {
      PyTuple_SET_ITEM(names_.get(), i, Py_NewRef(key));
      values_.push_back(value);
    }
  }
  Arguments arguments() const { return {values_.data(), count_, names_.get()}; }

 private:
  std::vector<PyObject*> values_;
  size_t count_ = 0;
  Ref names_;
};

PyObject* newSpecialization(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *args = nullptr, *kwargs = nullptr, *lifted = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!O!O", &PyTuple_Type, &args, &PyDict_Type, &kwargs, &lifted)) return nullptr;
    const CallOf call(args, kwargs);
    auto made = std::make_unique<Specialization>(CallArguments(call.arguments(), lifted));
    PyObject* self = check(type->tp_alloc(type, 0));
    reinterpret_cast<SpecializationObject*>(self)->state = made.release();
    return self;
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const Specialization* s = reinterpret_cast<SpecializationObject*>(self)->state;
  if (s == nullptr) return 0;
  if (const int stop = s->arguments.traverse(visit, arg)) return stop;
  if (const int stop = s->guards.traverse(visit, arg)) return stop;
  for (const TensorFacts& t : s->tensors) Py_VISIT(t.object.get());
  Py_VISIT(s->kept.get());
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<SpecializationObject*>(self)->state;
  Py_TYPE(self)->tp_free(self);
}

// The package has checked the options.
PyObject* guard(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *guards = nullptr, *missing = nullptr, *kept = nullptr, *tensors = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!OOO!", &PyList_Type, &guards, &missing, &kept, &PyList_Type, &tensors))
      return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i)
      if (PyObject* o = PyList_GET_ITEM(tensors, i); isTensor(o) && tensorOf(o).defined())
        of(self).tensors.emplace_back(o);
    of(self).guards = StateGuards(guards, missing);
    of(self).kept = Ref::borrow(kept);
    of(self).device = deviceOfNewTensors();
    of(self).arguments.forgetTensors();
    Py_RETURN_NONE;
  });
}

PyObject* compileFunction(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *check_name = nullptr;
    int record_after = 0, max_variants = 0, max_sizes = 0;
    if (!PyArg_ParseTuple(arguments, "siiiz", &name, &record_after, &max_variants, &max_sizes, &check_name))
      return nullptr;
    CompileOptions options;
    options.name = name;
    options.record_after = record_after;
    options.max_variants = max_variants;
    options.max_sizes = max_sizes;
    if (check_name != nullptr)
      options.check = std::string_view(check_name) == "always"  ? CompileCheck::kAlways
                      : std::string_view(check_name) == "never" ? CompileCheck::kNever
                                                                : CompileCheck::kFirst;
    of(self).function = std::make_unique<detail::CompiledFunction>(std::move(options));
    Py_RETURN_NONE;
  });
}

PyObject* firstFailed(PyObject* self, PyObject*) { return PyLong_FromLongLong(of(self).firstFailed()); }
PyObject* size(PyObject* self, PyObject*) { return PyLong_FromSize_t(of(self).guards.size()); }

PyObject* difference(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
    const CallOf call(args, kwargs);
    return PyUnicode_FromString(of(self).arguments.difference(call.arguments()).c_str());
  });
}

PyObject* tensors(PyObject* self, PyObject*) {
  return guarded([&] { return of(self).arguments.tensorPlaces(); });
}
PyObject* objects(PyObject* self, PyObject*) {
  return guarded([&] { return of(self).arguments.objectPlaces(); });
}
PyObject* floats(PyObject* self, PyObject*) {
  return guarded([&] { return of(self).arguments.floatPlaces(); });
}

PyObject* explain(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (of(self).function == nullptr) Py_RETURN_NONE;
    return PyUnicode_FromString(inPython(of(self).function->explain()).c_str());
  });
}
PyObject* graph(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Graph* g = of(self).function != nullptr ? of(self).function->graph() : nullptr;
    if (g == nullptr) Py_RETURN_NONE;
    return PyUnicode_FromString(g->print().c_str());
  });
}
PyObject* plan(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (of(self).function == nullptr || of(self).function->graph() == nullptr) Py_RETURN_NONE;
    return PyUnicode_FromString(textOf(of(self).function->plans()).c_str());
  });
}
PyObject* counts(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const CompileCounts c = of(self).function != nullptr ? of(self).function->counts() : CompileCounts{};
    return Py_BuildValue("{sKsKsKsKsKsd}", "hits", c.hits, "eager", c.eager + of(self).calls_without, "recorded",
                         c.recorded, "invalidated", c.invalidated, "variants", c.variants, "record_ms", c.record_ms);
  });
}
PyObject* callsWithout(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(of(self).calls_without); }
PyObject* captured(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref list = owned(PyList_New(0));
    const Graph* g = of(self).function != nullptr ? of(self).function->graph() : nullptr;
    if (g != nullptr)
      for (const Graph::Value* v : g->constants())
        checkStatus(PyList_Append(list.get(), owned(wrap(v->constant)).get()));
    return list.release();
  });
}

PyMethodDef methods[] = {
    {"guard", guard, METH_VARARGS, "guard(guards, missing, kept, tensors): what has to hold."},
    {"compile", compileFunction, METH_VARARGS, "compile(name, record_after, max_variants, max_sizes, check)"},
    {"first_failed", firstFailed, METH_NOARGS, "first_failed() -> int: the first guard that doesn't hold, or -1."},
    {"num_guards", size, METH_NOARGS, nullptr},
    {"difference", difference, METH_VARARGS, "difference(args, kwargs) -> str: the first place that differs."},
    {"tensors", tensors, METH_NOARGS, "tensors() -> list of (path, tensor) among the arguments."},
    {"objects", objects, METH_NOARGS, "objects() -> list of (path, object) that count by identity."},
    {"floats", floats, METH_NOARGS, "floats() -> list of (path, float)."},
    {"explain", explain, METH_NOARGS, nullptr},
    {"graph", graph, METH_NOARGS, nullptr},
    {"plan", plan, METH_NOARGS, nullptr},
    {"counts", counts, METH_NOARGS, nullptr},
    {"calls_without", callsWithout, METH_NOARGS, "calls_without() -> int: calls since it was refused a graph."},
    {"captured", captured, METH_NOARGS, "captured() -> list of the graph's constants."},
    {},
};

}  // namespace

PyTypeObject SpecializationType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._Specialization",
    .tp_basicsize = sizeof(SpecializationObject),
    .tp_dealloc = dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "What a compiled function is for some arguments: (args, kwargs, paths of floats that are tensors).",
    .tp_traverse = traverse,
    .tp_methods = methods,
    .tp_new = newSpecialization,
};

void addSpecialization(PyObject* module) {
  checkStatus(PyType_Ready(&SpecializationType));
  checkStatus(PyModule_AddObjectRef(module, "_Specialization", reinterpret_cast<PyObject*>(&SpecializationType)));
}

}  // namespace shunt::python
