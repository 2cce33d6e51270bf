#include "python/src/dispatch/modes.h"

#include "python/src/base/errors.h"
#include "python/src/base/handler_call.h"
#include "python/src/dispatch/subclasses.h"
#include "python/src/types/tensor.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/interpose/dispatch_mode.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace shunt::python {

namespace {

PyObject* emptyTuple() {
  static PyObject* const empty = check(PyTuple_New(0));
  return empty;
}

class PythonMode final : public DispatchMode {
 public:
  explicit PythonMode(PyObject* object) : object_(object) {}
  Level level() const override { return Level::kKernel; }
  bool results_may_differ() const override { return true; }  // what PyTorch's handlers may return
  std::string name() const override { return "TorchDispatchMode"; }
  void handle(const OperatorHandle& op, Stack* stack) override;

 private:
  PyObject* const object_;  // the Active's
};

/// A mode on the thread's stack. Guards are linked by address, so it stays where it is.
struct Active {
  explicit Active(PyObject* o) : object(Ref::borrow(o)), mode(o) { guard.emplace(mode); }
  Ref object;
  PythonMode mode;
  std::optional<DispatchModeGuard> guard;
};

/// The calling thread's modes, the innermost last.
struct Modes {
  std::vector<std::unique_ptr<Active>> stack;
  size_t floor = 0;  // how many were entered outside of the handler that runs
  // A thread that ends inside of a block leaves its modes: it has no lock then.
  ~Modes() {
    for (auto& m : stack) static_cast<void>(m.release());
  }
};
thread_local Modes modes;

/// While the handler of the innermost mode runs: the mode is off the stack, and those below it can't be left.
class HandlerScope {
 public:
  HandlerScope() : mode_(std::move(modes.stack.back())), floor_(modes.floor) {
    modes.stack.pop_back();
    modes.floor = modes.stack.size();
  }
  ~HandlerScope() {
    // What the handler entered and did not leave.
    while (modes.stack.size() > modes.floor) modes.stack.pop_back();
    modes.floor = floor_;
    modes.stack.push_back(std::move(mode_));
  }
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;

 private:
  std::unique_ptr<Active> mode_;
  const size_t floor_;
};

[[noreturn]] SHUNT_COLD void raiseDeclined(const OperatorHandle& op, PyObject* mode) {
  raise(
      PyExc_TypeError,
      fmt::format("Multiple dispatch failed for '{}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n  - "
                  "mode object {}",
                  op.operator_name().str(), reprOf(mode)));
}

/// An argument that a handler returned as a new tensor: an alias of it, where the result is about to get a history.
void separateFromArguments(const PreparedSchema& schema, const Stack& arguments, Stack& stack, size_t below) {
  const auto& returns = schema.schema.returns();
  bool recorded = false;
  forEachTensor(arguments, [&](const Tensor& t) { recorded |= t.defined() && t.requires_grad(); });
  if (!recorded) return;
  for (size_t i = 0; i < returns.size(); ++i) {
    IValue& value = stack[below + i];
    if (!value.isTensor() || returns[i].hasAlias() || !value.toTensor().defined()) continue;
    bool is_argument = false;
    forEachTensor(arguments, [&](const Tensor& t) { is_argument |= t.is_same(value.toTensor()); });
    if (!is_argument) continue;
    const TensorImpl& impl = *value.toTensor().unsafeGetTensorImpl();
    value = Tensor(make_intrusive<TensorImpl>(impl, impl.key_set()));
  }
}

bool mayReturnArgument(const PreparedSchema& schema, const Stack& stack, size_t below) {
  const size_t n = schema.schema.arguments().size();
  for (size_t i = 0; i < schema.schema.returns().size(); ++i) {
    const IValue& r = stack[below + n + i];
    if (!r.isTensor()) continue;
    for (size_t a = 0; a < n; ++a)
      if (stack[below + a].isTensor() && stack[below + a].toTensor().is_same(r.toTensor())) return true;
  }
  return false;
}

void PythonMode::handle(const OperatorHandle& op, Stack* stack) {
  const Gil gil;
  OpOverloadObject* const object = operatorObject(op.op());
  const PreparedSchema& schema = preparedOf(*object);
  const size_t below = stack->size() - schema.schema.arguments().size();
  const IValue* const arguments = stack->data() + below;
  const Ref mode = Ref::borrow(object_);
  const HandlerScope scope;
  const Ref types = subclassTypes(arguments, schema.schema.arguments().size());
  const Ref returned = askTorchDispatch(mode.get(), object, types ? types.get() : emptyTuple(), arguments);
  if (returned.get() == Py_NotImplemented) {
    if (types && handleBySubclasses(op, stack)) return;
    raiseDeclined(op, mode.get());
  }
  replaceByReturned(schema, returned.get(), stack,
                    [&] { return fmt::format("{}.__torch_dispatch__", Py_TYPE(mode.get())->tp_name); });
}

// ---- Python's side ----------------------------------------------------------------------------------------------

PyObject* push(PyObject*, PyObject* mode) {
  return guarded([&] {
    modes.stack.push_back(std::make_unique<Active>(mode));
    return Py_NewRef(Py_None);
  });
}

PyObject* pop(PyObject*, PyObject*) {
  return guarded([&] {
    if (modes.stack.empty()) raise(PyExc_RuntimeError, "no TorchDispatchMode is on for calls on this thread");
    if (modes.stack.size() <= modes.floor)
      raise(PyExc_RuntimeError, "a TorchDispatchMode that was entered outside of a handler can't be left inside of it");
    Ref object = modes.stack.back()->object;
    modes.stack.pop_back();
    return object.release();
  });
}

PyObject* count(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.stack.size()); }

PyObject* all(PyObject*, PyObject*) {
  return guarded([] {
    Ref list = owned(PyList_New(0));
    for (const auto& m : modes.stack) checkStatus(PyList_Append(list.get(), m->object.get()));
    return list.release();
  });
}

/// Modes that are off for a scope, in their places: handlers that run further out refer to them.
constexpr const char* kOffName = "shunt.DispatchModesOff";
void destroyOff(PyObject* capsule) {
  // The scope was never left: they stay off.
  delete static_cast<Modes*>(PyCapsule_GetPointer(capsule, kOffName));
}
PyObject* switchOff(PyObject*, PyObject*) {
  return guarded([] {
    auto off = std::make_unique<Modes>();
    while (!modes.stack.empty()) {
      modes.stack.back()->guard.reset();
      off->stack.insert(off->stack.begin(), std::move(modes.stack.back()));
      modes.stack.pop_back();
    }
    off->floor = std::exchange(modes.floor, 0);
    PyObject* capsule = check(PyCapsule_New(off.get(), kOffName, destroyOff));
    off.release();
    return capsule;
  });
}
PyObject* switchOn(PyObject*, PyObject* capsule) {
  return guarded([&] {
    auto* off = static_cast<Modes*>(PyCapsule_GetPointer(capsule, kOffName));
    if (off == nullptr) throw PythonError();
    while (!modes.stack.empty()) modes.stack.pop_back();
    for (auto& m : off->stack) {
      m->guard.emplace(m->mode);
      modes.stack.push_back(std::move(m));
    }
    modes.floor = off->floor;
    off->stack.clear();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {
    {"_push_on_torch_dispatch_stack", push, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", pop, METH_NOARGS, nullptr},
    {"_len_torch_dispatch_stack", count, METH_NOARGS,
     "_len_torch_dispatch_stack() -> int\n\nHow many TorchDispatchModes are on for calls on this thread."},
    {"_get_dispatch_stack", all, METH_NOARGS, nullptr},
    {"_switch_off_dispatch_modes", switchOff, METH_NOARGS, nullptr},
    {"_switch_on_dispatch_modes", switchOn, METH_O, nullptr},
    {},
};

}  // namespace

Ref askTorchDispatch(PyObject* whom, OpOverloadObject* op, PyObject* types, const IValue* arguments) {
  static PyObject* const name = check(PyUnicode_InternFromString("__torch_dispatch__"));
  const PackedArguments packed = packArguments(preparedOf(*op), arguments);
  PyObject* given[] = {whom, reinterpret_cast<PyObject*>(op), types, packed.positional.get(), packed.keywords.get()};
  return owned(callHandler([&] { return PyObject_VectorcallMethod(name, given, 5, nullptr); }));
}

void replaceByReturned(const PreparedSchema& schema, PyObject* returned, Stack* stack, What who) {
  const size_t n = schema.schema.arguments().size(), below = stack->size() - n;
  if (std::all_of(schema.written.begin(), schema.written.end(), [](int place) { return place >= 0; }) &&
      !schema.written.empty()) {
    // In-place and out= operators have the arguments that they write as their results, whatever a handler returns.
    Stack results;
    for (const int place : schema.written) results.push_back((*stack)[below + static_cast<size_t>(place)]);
    stack->resize(below);
    stack->insert(stack->end(), results.begin(), results.end());
    return;
  }
  pushReturns(schema, returned, *stack, who);
  if (mayReturnArgument(schema, *stack, below)) [[unlikely]] {
    const Stack arguments(stack->begin() + static_cast<ptrdiff_t>(below),
                          stack->begin() + static_cast<ptrdiff_t>(below + n));
    separateFromArguments(schema, arguments, *stack, below + n);
  }
  stack->erase(stack->begin() + static_cast<ptrdiff_t>(below), stack->begin() + static_cast<ptrdiff_t>(below + n));
}

void addModes(PyObject* module) { checkStatus(PyModule_AddFunctions(module, functions)); }

}  // namespace shunt::python
