#include "operator_hook.h"

#include <ATen/ThreadLocalPythonObjects.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/SafePyObject.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <array>
#include <string>
#include <unordered_map>

namespace shunt_torch {
namespace {

constexpr c10::DispatchKey kBelow = c10::DispatchKey::Fake, kAbove = c10::DispatchKey::DeferredInit;
constexpr c10::DispatchKeySet kBoth = c10::DispatchKeySet({kBelow, kAbove});
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

// Another tensor on the same memory. A result itself may get no object of Python's: what called the operator,
// Parameter() say, makes one of a class of its own.
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

c10::DispatchKeySet after(c10::DispatchKeySet keys, c10::DispatchKey key) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key);
}

std::shared_ptr<c10::SafePyObject> activeRecorder() {
  if (!at::impl::ThreadLocalPythonObjects::contains(kName)) return nullptr;
  return at::impl::ThreadLocalPythonObjects::get(kName);
}

py::handle operator*(const std::shared_ptr<c10::SafePyObject>& recorder) { return recorder->ptr(getPyInterpreter()); }

const c10::IValue* argumentsOf(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  return stack.data() + (stack.size() - op.schema().arguments().size());
}

// The recorder's code may set off a collection of garbage, and so the ends of modes that lie in it, which put back the
// dispatch keys of their beginning. An operator in the middle has to find its own ones.
struct KeepDispatchKeys {
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  ~KeepDispatchKeys() { c10::impl::_force_tls_local_dispatch_key_set(keys); }
};

// The recorder isn't what observe.py watches, whose profile function would take most of the time of a recording.
class Unwatched {
 public:
#if PY_VERSION_HEX >= 0x030B0000
  Unwatched() { PyThreadState_EnterTracing(PyThreadState_Get()); }
  ~Unwatched() { PyThreadState_LeaveTracing(PyThreadState_Get()); }
#else
  Unwatched() = default;
#endif
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

// Calls an operator and shows it; what it calls itself isn't shown.
void show(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard not_inside(kBoth);
  const auto recorder = activeRecorder();
  if (recorder == nullptr) return op.redispatchBoxed(below, stack);
  const c10::FunctionSchema& schema = op.schema();
  struct Note {
    PyObject* object = nullptr;
    ~Note() {
      if (object == nullptr) return;
      const py::gil_scoped_acquire gil;
      Py_DECREF(object);
    }
  } note;
  {
    const py::gil_scoped_acquire gil;
    const KeepDispatchKeys keep;
    const Unwatched unwatched;
    const c10::IValue* const first = argumentsOf(op, *stack);
    py::list args;
    py::dict kwargs;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& a = schema.arguments()[i];
      if (a.kwarg_only())
        kwargs[a.name().c_str()] = shown(first[i]);
      else
        args.append(shown(first[i]));
    }
    py::object before = (*recorder).attr("before")(torch::detail::getTorchApiFunction(op), py::tuple(args), kwargs);
    if (!before.is_none()) note.object = before.release().ptr();
  }
  try {
    op.redispatchBoxed(below, stack);
  } catch (...) {
    const py::gil_scoped_acquire gil;
    if (note.object != nullptr) (*recorder).attr("failed")(py::handle(note.object));
    throw;
  }
  if (note.object == nullptr) return;
  const py::gil_scoped_acquire gil;
  const KeepDispatchKeys keep;
  const Unwatched unwatched;
  (*recorder).attr("after")(py::handle(note.object), resultOf(*stack, schema.returns().size()));
}

void showBelow(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  show(op, after(keys, kBelow), stack);
}

// Composite operators that read the elements of arguments by themselves, and which.
const std::unordered_map<std::string, std::vector<size_t>> kReaders = {
    {"aten::ctc_loss.Tensor", {2, 3}},
    {"aten::lstm.data", {1}},
    {"aten::gru.data", {1}},
    {"aten::rnn_tanh.data", {1}},
    {"aten::rnn_relu.data", {1}},
    {"aten::_pad_packed_sequence", {1}},
    {"aten::tensor_split.tensor_indices_or_sections", {1}},
};

bool isUnknown(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  if (name.compare(0, 19, "aten::_sobol_engine") == 0) return true;
  if (name.compare(0, 6, "aten::") == 0 || name.compare(0, 4, "prim") == 0 || name.compare(0, 10, "profiler::") == 0)
    return false;
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

// max_pool1d without gradients fills its result by itself; as one operator it is what it is.
bool isOne(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (op.operator_name().name != "aten::max_pool1d") return false;
  const at::Tensor& self = argumentsOf(op, stack)[0].toTensor();
  return !(self.requires_grad() && at::GradMode::is_enabled()) && !self._fw_grad(0).defined();
}

void showAbove(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = after(keys, kAbove);
  const auto recorder = activeRecorder();
  if (recorder == nullptr) return op.redispatchBoxed(below, stack);
  if (isOne(op, *stack)) return show(op, below, stack);
  const auto reader = kReaders.find(c10::toString(op.operator_name()));
  const bool is_unknown = isUnknown(op);
  if (reader != kReaders.end() || is_unknown) {
    const c10::impl::ExcludeDispatchKeyGuard not_inside(kBoth);
    const py::gil_scoped_acquire gil;
    const std::string& name = op.operator_name().name;
    if (is_unknown) (*recorder).attr("refuses")(name);
    if (reader != kReaders.end())
      for (const size_t i : reader->second)
        (*recorder).attr("reads")(name, torch::jit::toPyObject(argumentsOf(op, *stack)[i]));
  }
  op.redispatchBoxed(below, stack);
}

}  // namespace

void registerOperatorHook() {
  // Kept for the life of the process, as the kernels are.
  static const auto* const kept =
      new std::array{c10::Dispatcher::singleton().registerFallback(
                         kBelow, c10::KernelFunction::makeFromBoxedFunction<&showBelow>(), "shunt_torch"),
                     c10::Dispatcher::singleton().registerFallback(
                         kAbove, c10::KernelFunction::makeFromBoxedFunction<&showAbove>(), "shunt_torch")};
  static_cast<void>(kept);
}

void OperatorHook::enter() {
  TORCH_CHECK(!isActive(), "a call is being recorded on this thread already");
  at::impl::ThreadLocalPythonObjects::set(
      kName, std::make_shared<c10::SafePyObject>(py::object(recorder_).release().ptr(), getPyInterpreter()));
  for (const c10::DispatchKey key : {kBelow, kAbove}) c10::impl::tls_set_dispatch_key_included(key, true);
}

void OperatorHook::exit() {
  for (const c10::DispatchKey key : {kBelow, kAbove}) c10::impl::tls_set_dispatch_key_included(key, false);
  at::impl::ThreadLocalPythonObjects::erase(kName);
}

bool OperatorHook::isActive() { return c10::impl::tls_is_dispatch_key_included(kBelow); }

}  // namespace shunt_torch
