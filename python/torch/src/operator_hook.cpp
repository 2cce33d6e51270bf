#include "operator_hook.h"

#include <ATen/ThreadLocalPythonObjects.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/SafePyObject.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/jit/python/pybind_utils.h>

namespace shunt_torch {
namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;
// ThreadLocalState carries these objects to the threads of the autograd engine.
const char* const kName = "shunt_torch.recorder";

// A number in the place of a tensor decides no dtype, so it is shown as a number.
py::object shown(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& t = value.toTensor();
    if (t.defined() && t.unsafeGetTensorImpl()->is_wrapped_number())
      return torch::jit::toPyObject(c10::IValue(t.item()));
  }
  return torch::jit::toPyObject(value);
}

// Another tensor on the same memory. A result itself may get no object of Python's: what called the operator, Parameter()
// say, makes one of a class of its own.
at::Tensor aliasOf(const at::Tensor& t) {
  if (!t.defined()) return t;
  return at::Tensor(t.unsafeGetTensorImpl()->shallow_copy_and_detach(t.unsafeGetTensorImpl()->version_counter(), true));
}

py::object resultOf(const c10::IValue& value) {
  if (value.isTensor()) return torch::jit::toPyObject(c10::IValue(aliasOf(value.toTensor())));
  if (value.isTensorList()) {
    std::vector<at::Tensor> aliases = value.toTensorVector();
    for (at::Tensor& t : aliases) t = aliasOf(t);
    return torch::jit::toPyObject(c10::IValue(std::move(aliases)));
  }
  return torch::jit::toPyObject(value);
}

py::object resultOf(const torch::jit::Stack& stack, size_t returns) {
  if (returns == 1) return resultOf(stack.back());
  py::tuple out(returns);
  for (size_t i = 0; i < returns; ++i) out[i] = resultOf(stack[stack.size() - returns + i]);
  return std::move(out);
}

void show(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard not_again(kKey);
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (!at::impl::ThreadLocalPythonObjects::contains(kName)) return op.redispatchBoxed(below, stack);
  const std::shared_ptr<c10::SafePyObject> recorder = at::impl::ThreadLocalPythonObjects::get(kName);
  const c10::FunctionSchema& schema = op.schema();
  PyObject* noted = nullptr;
  {
    const py::gil_scoped_acquire gil;
    const size_t n = schema.arguments().size();
    const c10::IValue* const first = stack->data() + (stack->size() - n);
    py::list args;
    py::dict kwargs;
    for (size_t i = 0; i < n; ++i) {
      const c10::Argument& a = schema.arguments()[i];
      if (a.kwarg_only())
        kwargs[a.name().c_str()] = shown(first[i]);
      else
        args.append(shown(first[i]));
    }
    const py::handle self = recorder->ptr(getPyInterpreter());
    py::object note = self.attr("before")(torch::detail::getTorchApiFunction(op), py::tuple(args), kwargs);
    if (!note.is_none()) noted = note.release().ptr();
  }
  try {
    op.redispatchBoxed(below, stack);
  } catch (...) {
    const py::gil_scoped_acquire gil;
    const auto note = py::reinterpret_steal<py::object>(noted);
    if (noted != nullptr) py::handle(recorder->ptr(getPyInterpreter())).attr("failed")(note);
    throw;
  }
  if (noted == nullptr) return;
  const py::gil_scoped_acquire gil;
  const auto note = py::reinterpret_steal<py::object>(noted);
  const py::handle self = recorder->ptr(getPyInterpreter());
  self.attr("after")(note, resultOf(*stack, schema.returns().size()));
}

}  // namespace

void registerOperatorHook() {
  // Kept for the life of the process, as its kernel is.
  static const auto* const kept = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
      kKey, c10::KernelFunction::makeFromBoxedFunction<&show>(), "shunt_torch"));
  static_cast<void>(kept);
}

void OperatorHook::enter() {
  TORCH_CHECK(!isActive(), "a call is being recorded on this thread already");
  at::impl::ThreadLocalPythonObjects::set(
      kName, std::make_shared<c10::SafePyObject>(py::object(recorder_).release().ptr(), getPyInterpreter()));
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

void OperatorHook::exit() {
  c10::impl::tls_set_dispatch_key_included(kKey, false);
  at::impl::ThreadLocalPythonObjects::erase(kName);
}

bool OperatorHook::isActive() { return c10::impl::tls_is_dispatch_key_included(kKey); }

}  // namespace shunt_torch
