#include "python/src/compile/compiled.h"

#include "python/common/state/values.h"
#include "python/src/base/errors.h"
#include "python/src/compile/result_template.h"
#include "python/src/compile/specialization.h"
#include "python/src/dispatch/torch_function.h"
#include "python/src/types/constants.h"
#include "python/src/types/tensor.h"

#include <shunt/compile/try_again.h>
#include <shunt/core/environment.h>
#include <shunt/core/tls.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <structmember.h>
#include <cstddef>
#include <optional>

namespace shunt::python {

namespace {

struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *specializations;  // a callable; a list
  PyObject *dict, *weak_list;
  unsigned long long calls_off;  // that ran the function since is_off
  char is_off, is_full;          // calls run the function; a call without a graph is an error
};

CompiledObject* asCompiled(PyObject* o) { return reinterpret_cast<CompiledObject*>(o); }

thread_local int recordings = 0;

class Recording {
 public:
  Recording() { ++recordings; }
  ~Recording() { --recordings; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

using Function = detail::CompiledFunction;

[[noreturn]] void raiseWithoutGraph(PyObject* self, PyObject* specialization) {
  const Ref reason = owned(PyObject_CallMethod(self, "_without_graph", "O", specialization));
  raise(PyExc_RuntimeError, utf8(reason.get()));
}

/// A specialisation was dropped while it was recorded, as a float can't be a tensor: the call has to be made again.
struct Dropped {};

/// One call of a compiled function that a specialisation fits.
class SpecializedCall {
 public:
  SpecializedCall(PyObject* self, PyObject* specialization, const Arguments& arguments, FoundTensors& found)
      : self_(self),
        object_(Ref::borrow(specialization)),
        specialization_(specializationOf(specialization)),
        arguments_(arguments),
        found_(found) {}

  PyObject* run() {
    Function& function = *specialization_.function;
    Function::CallTimer timer(function);
    Function::Decision decision = function.decide(found_.call, timer);
    if (decision.way == Function::Way::kRecord) [[unlikely]] {
      std::optional<Function::Attempt> attempt(std::in_place, function, found_.call);
      decision.variant = attempt->record([&](detail::TraceCall& trace, const std::vector<Tensor>& wrappers) {
        return std::static_pointer_cast<void>(record(trace, wrappers));
      });
      if (interrupted_) throw *interrupted_;
      if (is_dropped_) throw Dropped();  // so the attempt notes no failure
      if (decision.variant == nullptr && asCompiled(self_)->is_full != 0 && !is_tried_again_) {
        attempt.reset();
        raiseWithoutGraph(self_, object_.get());
      }
      if (decision.variant == nullptr) return callWithoutGraph();  // what it throws matters to the attempt
    }
    if (decision.variant == nullptr) return callWithoutGraph();
    const auto* result = static_cast<const ResultTemplate*>(Function::result(*decision.variant));
    Ref by_function;
    Function::Ran ran = [&] {
      const WithoutGil unlocked(isLong());
      return function.run(*decision.variant, found_.call, [&] { return callForCheck(*result, by_function); });
    }();
    return ran.by_function ? by_function.release() : result->build(ran.outputs.begin());
  }

 private:
  // See PyObject* invoke() in call/invoke.h: shorter calls are over before another thread would have begun.
  bool isLong() const {
    return found_.call.tensors.size() > 0 && found_.call.tensors[0]->defined() &&
           found_.call.tensors[0]->numel() >= kLongCall;
  }
  Ref call() const {
    return owned(
        PyObject_Vectorcall(asCompiled(self_)->function, arguments_.values, arguments_.count, arguments_.keywords));
  }
  PyObject* callWithoutGraph() {
    Ref result = call();
    if (!specialization_.is_confirmed) [[unlikely]]
      confirm();
    return result.release();
  }
  detail::CompileOutputs callForCheck(const ResultTemplate& expected, Ref& result) const {
    const Gil gil;
    result = call();
    std::vector<Tensor> tensors;
    // One more than the graph has, where it is another structure: so the check sees it.
    if (!expected.collect(result.get(), tensors)) tensors.emplace_back();
    detail::CompileOutputs out;
    for (Tensor& t : tensors) out.push_back(std::move(t));
    return out;
  }
  /// The function has run: what it has left of the state, and of its arguments, decides whether it may be recorded.
  void confirm() {
    const int64_t failed = specialization_.firstFailed();
    std::string difference = failed < 0 ? specialization_.arguments.difference(arguments_) : "";
    if (failed < 0 && difference.empty()) {
      FoundTensors now{{{}, {}, found_.call.types}};
      specialization_.arguments.match(arguments_, now);
      for (size_t i = 0; i < now.call.tensors.size() && now.lifted.empty(); ++i)
        if (now.call.tensors[i] != found_.call.tensors[i]) difference = "a tensor among them is another one";
    }
    if (failed < 0 && difference.empty()) {
      specialization_.is_confirmed = true;
      return;
    }
    owned(PyObject_CallMethod(self_, "_unstable", "OLs", object_.get(), static_cast<long long>(failed),
                              difference.c_str()));
  }
  /// Of the Python error that is set, for people: with the line of the user's code.
  std::string reasonOfError() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(value, traceback);
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
      PyErr_Restore(type, value, traceback);
      interrupted_.emplace();
      return "interrupted";
    }
    is_tried_again_ = false;
    if (const Ref retry = Ref::steal(PyObject_GetAttrString(value, "_shunt_retry"))) is_tried_again_ = true;
    PyErr_Clear();
    const Ref text = Ref::steal(PyObject_CallMethod(self_, "_reason", "O", value));
    is_dropped_ = text.get() == Py_None;
    std::string reason = text && PyUnicode_Check(text.get()) ? utf8(text.get()) : "an error";
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return reason;
  }
  std::shared_ptr<ResultTemplate> record(detail::TraceCall& trace, const std::vector<Tensor>& wrappers) {
    try {
      return recorded(trace, wrappers);
    } catch (const PythonError& e) {
      e.restore();
      const std::string reason = reasonOfError();
      if (is_tried_again_) throw shunt::detail::TryAgain(reason);
      throw Error(reason);
    }
  }
  std::shared_ptr<ResultTemplate> recorded(detail::TraceCall& trace, const std::vector<Tensor>& wrappers) {
    if (!specialization_.is_confirmed) throw Error("the calls so far have raised errors");
    std::shared_ptr<ResultTemplate> made;
    std::vector<Tensor> outputs;
    {
      Ref result;
      {
        auto [args, kwargs] = specialization_.arguments.rebuilt(arguments_, wrappers);
        const Recording scope;
        result = Ref::steal(PyObject_CallMethod(self_, "_record", "OOO", object_.get(), args.get(), kwargs.get()));
      }
      if (!result) throw PythonError();
      if (const char* why = whyUnusualTorchFunction())
        throw Error(std::string("when the function had returned, ") + why);
      if (const int64_t failed = specialization_.firstFailed(); failed >= 0) {
        owned(PyObject_CallMethod(self_, "_unstable", "OLs", object_.get(), static_cast<long long>(failed), ""));
        throw Error("the function changes what it reads: " + specialization_.changed);
      }
      made = ResultTemplate::make(result.get(), outputs);
      refuseKeptContainers(*made);
    }
    for (const Tensor& t : outputs) trace.output(t);
    outputs.clear();
    collectYoung();  // what the function has made in cycles would seem to be kept
    return made;
  }
  void refuseKeptContainers(const ResultTemplate& made) {
    for (PyObject* container : made.containers())
      if (Py_REFCNT(container) > 1 + timesInside(container, made))
        throw Error(
            "the function returns a container that is elsewhere, too, and a graph makes new ones: return a copy");
  }
  static Py_ssize_t timesInside(PyObject* container, const ResultTemplate& made) {
    Py_ssize_t n = -1;
    for (PyObject* other : made.containers()) n += other == container ? 1 : 0;
    return n;
  }
  static void collectYoung() {
    static PyObject* cache = nullptr;
    const Ref generation = owned(PyLong_FromLong(0));
    owned(PyObject_CallOneArg(imported(cache, "gc", "collect"), generation.get()));
  }

  PyObject* const self_;
  const Ref object_;
  Specialization& specialization_;
  const Arguments& arguments_;
  FoundTensors& found_;
  std::optional<PythonError> interrupted_;
  bool is_dropped_ = false;
  bool is_tried_again_ = false;  // the last error says that another call will be recorded otherwise
};

/// self.method(args, kwargs), or self.method(why, args, kwargs).
PyObject* callByMethod(PyObject* self, PyObject* method, const char* why, const Arguments& a) {
  const Ref args = owned(PyTuple_New(static_cast<Py_ssize_t>(a.count))), kwargs = owned(PyDict_New());
  for (size_t i = 0; i < a.count; ++i) PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), Py_NewRef(a.values[i]));
  for (Py_ssize_t i = 0; a.keywords != nullptr && i < PyTuple_GET_SIZE(a.keywords); ++i)
    checkStatus(
        PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(a.keywords, i), a.values[a.count + static_cast<size_t>(i)]));
  if (why == nullptr) return check(PyObject_CallMethodObjArgs(self, method, args.get(), kwargs.get(), nullptr));
  const Ref reason = owned(PyUnicode_FromString(why));
  return check(PyObject_CallMethodObjArgs(self, method, reason.get(), args.get(), kwargs.get(), nullptr));
}
PyObject* callMissed(PyObject* self, const Arguments& a) {
  static PyObject* const name = check(PyUnicode_InternFromString("_missed"));
  return callByMethod(self, name, nullptr, a);
}
PyObject* callFunctionBecause(PyObject* self, const char* why, const Arguments& a) {
  static PyObject* const name = check(PyUnicode_InternFromString("_run"));
  return callByMethod(self, name, why, a);
}

PyObject* callCompiled(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  CompiledObject* const c = asCompiled(self);
  if (c->is_off != 0 || recordings > 0) [[unlikely]] {
    if (recordings == 0) ++c->calls_off;
    return PyObject_Vectorcall(c->function, args, flags, keywords);
  }
  return guarded([&]() -> PyObject* {
    const Arguments arguments{args, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords};
    if (const char* why = whyUnusualTorchFunction()) [[unlikely]]
      return callFunctionBecause(self, why, arguments);
    PyObject* const list = c->specializations;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      PyObject* const object = PyList_GET_ITEM(list, i);
      Specialization& s = specializationOf(object);
      if (i == 0 && s.function != nullptr && s.is_confirmed && s.function->passesBy())
        return PyObject_Vectorcall(c->function, args, flags, keywords);
      FoundTensors found{{{}, {}, &typeid(Specialization)}};
      if (!s.arguments.match(arguments, found) || s.firstFailed() >= 0) continue;
      if (i > 0) {  // the one that is called most comes first
        PyList_SET_ITEM(list, i, PyList_GET_ITEM(list, i - 1));
        PyList_SET_ITEM(list, i - 1, object);
      }
      if (s.function == nullptr) {
        if (c->is_full != 0) raiseWithoutGraph(self, object);
        ++s.calls_without;
        return PyObject_Vectorcall(c->function, args, flags, keywords);
      }
      try {
        return SpecializedCall(self, object, arguments, found).run();
      } catch (const Dropped&) {
        return callCompiled(self, args, flags, keywords);
      }
    }
    return callMissed(self, arguments);
  });
}

PyObject* newCompiled(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(arguments) < 1) raise(PyExc_TypeError, "expected a function");
    PyObject* self = check(type->tp_alloc(type, 0));
    CompiledObject* c = asCompiled(self);
    c->vectorcall = callCompiled;
    c->function = Py_NewRef(PyTuple_GET_ITEM(arguments, 0));
    c->specializations = check(PyList_New(0));
    return self;
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(asCompiled(self)->function);
  Py_VISIT(asCompiled(self)->specializations);
  Py_VISIT(asCompiled(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(asCompiled(self)->specializations);
  asCompiled(self)->specializations = PyList_New(0);
  Py_CLEAR(asCompiled(self)->dict);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (asCompiled(self)->weak_list != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(asCompiled(self)->function);
  Py_CLEAR(asCompiled(self)->specializations);
  Py_CLEAR(asCompiled(self)->dict);
  Py_TYPE(self)->tp_free(self);  // the derived class is Python's, which lets go of it
}

PyMemberDef members[] = {
    {"_function", T_OBJECT_EX, offsetof(CompiledObject, function), READONLY, "The function itself."},
    {"_specializations", T_OBJECT_EX, offsetof(CompiledObject, specializations), READONLY, "Those in use."},
    {"_calls_off", T_ULONGLONG, offsetof(CompiledObject, calls_off), 0, "Calls that ran the function since then."},
    {"_is_off", T_BOOL, offsetof(CompiledObject, is_off), 0, "Whether calls run the function."},
    {"_is_full", T_BOOL, offsetof(CompiledObject, is_full), 0, "Whether a call without a graph is an error."},
    {},
};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyTypeObject CompiledBaseType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._CompiledBase",
    .tp_basicsize = sizeof(CompiledObject),
    .tp_dealloc = dealloc,
    .tp_vectorcall_offset = offsetof(CompiledObject, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A compiled function: (function).",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_weaklistoffset = offsetof(CompiledObject, weak_list),
    .tp_members = members,
    .tp_getset = properties,
    .tp_dictoffset = offsetof(CompiledObject, dict),
    .tp_new = newCompiled,
};

// Classes that derive from one with vectorcall get it from Python 3.12 on; before, their calls would go by a tuple.
PyObject* allowVectorcall(PyObject*, PyObject* type) {
  reinterpret_cast<PyTypeObject*>(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}
PyObject* isRecordingNow(PyObject*, PyObject*) { return PyBool_FromLong(isRecording()); }
PyObject* isPlainThread(PyObject*, PyObject*) {
  return PyBool_FromLong((detail::tls_state.included & ~detail::kDefaultIncluded) == 0);
}
PyObject* isSwitchedOn(PyObject*, PyObject*) {
  static const bool on = detail::environment::flag<detail::environment::Variable::kCompile>();
  return PyBool_FromLong(on);
}
/// The environment's, else the first call: in Python a call costs more than recording it.
PyObject* defaultRecordAfter(PyObject*, PyObject*) {
  const bool is_set = detail::environment::textOf(detail::environment::Variable::kCompileRecordAfter) != nullptr;
  return PyLong_FromLong(is_set ? default_record_after() : 1);
}
PyObject* setSpecializationNote(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject* object = nullptr;
    const char* text = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!s", &SpecializationType, &object, &text)) return nullptr;
    specializationOf(object).changed = text;
    Py_RETURN_NONE;
  });
}

PyObject* isValueOf(PyObject*, PyObject* o) { return PyBool_FromLong(isValue(o)); }
PyObject* isSameValueOf(PyObject*, PyObject* arguments) {
  PyObject *a = nullptr, *b = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &a, &b)) return nullptr;
  return PyBool_FromLong(isSameValue(a, b));
}
PyObject* defineValueTypes(PyObject*, PyObject* arguments) {
  PyObject *tuple = nullptr, *enumeration = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &tuple, &PyType_Type, &enumeration)) return nullptr;
  std::vector<PyTypeObject*> types;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    types.push_back(reinterpret_cast<PyTypeObject*>(Py_NewRef(PyTuple_GET_ITEM(tuple, i))));
  setValueTypes(std::move(types), reinterpret_cast<PyTypeObject*>(Py_NewRef(enumeration)));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_allow_vectorcall", allowVectorcall, METH_O, nullptr},
    {"_is_recording", isRecordingNow, METH_NOARGS, "_is_recording() -> bool: whether this thread records a function."},
    {"_is_plain_thread", isPlainThread, METH_NOARGS, "_is_plain_thread() -> bool: no mode, level or trace is on."},
    {"_is_compile_on", isSwitchedOn, METH_NOARGS, nullptr},
    {"_default_record_after", defaultRecordAfter, METH_NOARGS, nullptr},
    {"_note_change", setSpecializationNote, METH_VARARGS, nullptr},
    {"_is_value", isValueOf, METH_O, nullptr},
    {"_is_same_value", isSameValueOf, METH_VARARGS, nullptr},
    {"_set_value_types", defineValueTypes, METH_VARARGS, nullptr},
    {},
};

}  // namespace

bool isRecording() { return recordings > 0; }

void addCompiled(PyObject* module) {
  checkStatus(PyModule_AddFunctions(module, functions));
  checkStatus(PyType_Ready(&CompiledBaseType));
  checkStatus(PyModule_AddObjectRef(module, "_CompiledBase", reinterpret_cast<PyObject*>(&CompiledBaseType)));
  addSpecialization(module);
}

}  // namespace shunt::python
