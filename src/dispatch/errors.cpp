#include "src/dispatch/errors.h"

#include <shunt/core/stack_tensors.h>

#include "src/dispatch/dangling.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/operator_entry.h"

#include <algorithm>

namespace shunt {
namespace {

struct Found {
  std::string argument;
  Device device;
};

bool isUndefined(const IValue& v) {
  if (v.isTensor()) return !v.toTensor().defined();
  if (!v.isTensorList()) return false;
  const auto& list = v.toTensorVector();
  return list.empty() || std::any_of(list.begin(), list.end(), [](const Tensor& t) { return !t.defined(); });
}

// The first argument that has to be a tensor, or tensors, and is none; a null pointer when there is no such.
const Argument* undefinedArgument(const OperatorHandle& op, const Stack& stack) {
  if (!op.hasSchema()) return nullptr;
  const auto& args = op.schema().arguments();
  if (stack.size() < args.size()) return nullptr;
  for (size_t i = 0; i < args.size(); ++i)
    if (!args[i].type.optional && !args[i].type.element_optional && isUndefined(stack[stack.size() - args.size() + i]))
      return &args[i];
  return nullptr;
}

// Whether a message says "name(): ..." or "name: ..." of the operator, or its qualified name.
bool isNamed(const std::string& message, std::string_view name) {
  const auto isWord = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const size_t ns = name.rfind("::");
  const std::string_view bare = ns == name.npos ? name : name.substr(ns + 2);
  if (message.find(name) != message.npos) return true;
  for (size_t at = message.find(bare); at != message.npos; at = message.find(bare, at + 1)) {
    const size_t end = at + bare.size();
    if ((at == 0 || !isWord(message[at - 1])) && end < message.size() && (message[end] == '(' || message[end] == ':'))
      return true;
  }
  return false;
}

// " (device opencl)" where the key doesn't say it: PrivateUse1, 2 and 3.
std::string deviceNameOf(BackendComponent backend) {
  return backend >= BackendComponent::PrivateUse1 ? detail::str(" (device ", deviceTypeOf(backend), ")") : "";
}

/// Whether it makes a tensor of no other one: a device whose tensors it can't make has no backend here.
bool makesTensors(const OperatorHandle& op) {
  return op.op().name() == "aten::empty" || op.op().name() == "aten::empty_strided";
}

std::string whatToDo(const OperatorHandle& op, DispatchKey key) {
  if (key == DispatchKey::Undefined)
    return "No key was left: there were no tensor arguments and no options that name a device, or all their keys are "
           "excluded on "
           "this thread, fall through, or were taken away by a redispatch. Where that is meant, the operator needs a "
           "kernel that is "
           "independent of backends (CompositeExplicitAutograd).";
  const KeyParts& parts = partsOf(key);
  if (makesTensors(op))
    return detail::str(
        "Shunt itself has kernels for cpu and meta only. A separate library can add the backend ", key,
        parts.per_backend ? deviceNameOf(parts.backend) : "",
        " (docs/adapt_your_hardware.md): it registers this operator with SHUNT_LIBRARY_IMPL(<namespace>, ",
        toString(key),
        ", m) { m.impl(...); }, and no loaded library does. Load such a library, or use the device cpu.");
  if (parts.per_backend && parts.backend != BackendComponent::CPU && parts.backend != BackendComponent::Meta)
    return detail::str(
        "The backend ", toString(parts.backend), deviceNameOf(parts.backend),
        " has no kernel for it here: load a library that registers one with SHUNT_LIBRARY_IMPL(<namespace>, ",
        toString(key), ", m) { m.impl(...); }, or a fallback for the whole key with SHUNT_LIBRARY_IMPL(_, ",
        toString(key),
        ", m) { m.fallback(...); } (shunt/device/cpu_fallback.h has one that runs on the CPU), or move the tensors to "
        "cpu.");
  return detail::str("Register one with SHUNT_LIBRARY_IMPL(<namespace>, ", toString(key),
                     ", m) { m.impl(...); }, or call it with tensors of a backend that is listed here.");
}

// "CPU, Meta": the keys that it has kernels for. Who wants to know where they come from asks for dumpState().
std::string keysWithKernels(const OperatorHandle& op) {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  const OperatorEntry* entry = op.op().entry();
  std::string keys;
  if (entry != nullptr)
    for (const auto& slot : entry->kernels().slots())
      if (!slot.records.empty()) keys += (keys.empty() ? "" : ", ") + std::string(toString(slot.key));
  return keys.empty() ? "nothing" : keys;
}

// "tensors[1]" of the list's element.
std::string placeOf(const Argument& argument, const IValue& value, const Tensor& t) {
  if (value.isTensorList()) return detail::str(argument.name, '[', &t - value.toTensorVector().data(), ']');
  if (value.isOptionalTensorList()) {
    const auto& list = value.toOptionalTensorVector();
    const auto at =
        std::find_if(list.begin(), list.end(), [&](const std::optional<Tensor>& e) { return e && &*e == &t; });
    return detail::str(argument.name, '[', at - list.begin(), ']');
  }
  return argument.name;
}

}  // namespace

std::string mixedDevices(const OperatorHandle& op, const Stack& stack) {
  if (!op.hasSchema()) return "";
  const auto& args = op.schema().arguments();
  if (stack.size() < args.size()) return "";
  std::vector<Found> found;
  for (size_t i = 0; i < args.size(); ++i) {
    const IValue& value = stack[stack.size() - args.size() + i];
    forEachTensor(value, [&](const Tensor& t) {
      if (!t.is_cpu() || t.dim() != 0 || args[i].is_write()) found.push_back({placeOf(args[i], value, t), t.device()});
    });
  }
  for (const Found& f : found)
    if (!(f.device == found.front().device))
      return detail::str("Expected all tensors to be on the same device, but found at least two devices, ",
                         found.front().device, " (argument ", found.front().argument, ") and ", f.device, " (argument ",
                         f.argument, ")!");
  return "";
}

std::string withdrawalOf(const OperatorHandle& op) {
  const OperatorEntry* entry = op.op().entry();
  const SchemaRecord* gone = entry != nullptr && entry->schema() == nullptr ? entry->withdrawn() : nullptr;
  if (gone == nullptr) return "";
  return detail::str("operator ", op.operator_name(), " was withdrawn: its definition at ", gone->place,
                     " was taken back, as a library's registrations are when it is reset, destroyed or unloaded");
}

void missingKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  if (const std::string gone = withdrawalOf(op); !gone.empty()) throw Error(gone);
  const DispatchKey key = ks.highestPriorityKey();
  if (std::string mixed = stack != nullptr ? mixedDevices(op, *stack) : ""; !mixed.empty())
    throw Error(detail::str(op.operator_name(), ": ", mixed));
  // Without any tensor no backend is chosen; where the schema wants one, say which is missing.
  if (const Argument* missing =
          key == DispatchKey::Undefined && stack != nullptr ? undefinedArgument(op, *stack) : nullptr) {
    const std::string argument = detail::str(op.operator_name(), ": argument '", missing->name, "' ");
    if (missing->type.list) throw ValueError(argument + "expected a non-empty list of Tensors, all of them defined");
    throw Error(argument + "is an undefined tensor; expected one with data");
  }
  throw NotImplementedError(detail::str("Could not run '", op.operator_name(), "' with arguments from the '", key,
                                        "' backend. ", whatToDo(op, key), " It has kernels for: ", keysWithKernels(op),
                                        ".", danglingNear(op.operator_name())));
}

void ambiguousAutogradOtherKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet, Stack*) {
  throw Error(detail::str(
      op.operator_name(),
      " has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther. That backend "
      "has no Autograd key of its own, so which of the two defines the gradient is ambiguous. "
      "Register a kernel for AutogradOther. It has kernels for: ",
      keysWithKernels(op), "."));
}

void KernelFunction::fallthroughKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack*) {
  SHUNT_INTERNAL_ASSERT(false, "a fallthrough kernel of ", op.operator_name(), " was called with keys ", ks);
}

void boxing::throwForeignReference(const OperatorHandle& op) {
  throw Error(detail::str("operator ", op.operator_name(),
                          ": a boxed kernel of an in-place or out= operator has to return the argument "
                          "that it wrote, and returned another tensor"));
}

void boxing::throwReturnCount(const OperatorHandle& op, size_t expected, size_t got) {
  throw Error(detail::str("operator ", op.operator_name(),
                          ": a boxed kernel has to leave its returns on the stack: expected ", expected, ", got ",
                          got));
}

void nameRunningOperators(std::string& message) {
  constexpr int kMost = 8;
  const detail::Frames* frames = detail::tls_state.frames;
  const int depth = frames == nullptr ? 0 : frames->depth();
  std::string chain;
  const Operator* named = nullptr;
  for (int d = 0; d < std::min(depth, kMost); ++d) {
    const OpState* state = frames->at(d);
    if (state == nullptr || state->op() == named) continue;  // modes and subclasses pass a call on to its operator
    const Operator& op = *(named = state->op());
    if (chain.empty() && isNamed(message, op.name())) return;
    chain += detail::str(chain.empty() ? " (in " : " > ", op.name(), op.overload().empty() ? "" : ".", op.overload());
  }
  if (!chain.empty()) message += chain + ")";
}

void detail::throwNeverRegistered(const Operator& op) {
  throw Error(str("operator ", op.name(), op.overload().empty() ? "" : ".", op.overload(),
                  " has neither a definition nor a kernel"));
}

}  // namespace shunt
