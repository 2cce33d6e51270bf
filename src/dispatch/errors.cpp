#include "src/dispatch/errors.h"

#include "src/dispatch/operator_entry.h"

namespace shunt {
namespace {

struct Found {
  std::string argument;
  Device device;
};

void collectDevices(const IValue& v, const std::string& name, std::vector<Found>& out) {
  auto add = [&](const Tensor& t) {
    if (t.defined()) out.push_back({name, t.device()});
  };
  if (v.isTensor()) add(v.toTensor());
  else if (v.isTensorList()) for (const Tensor& t : v.toTensorVector()) add(t);
  else if (v.isOptionalTensorList()) for (const auto& t : v.toOptionalTensorVector()) if (t) add(*t);
}

// "self is on cpu, other on meta" when arguments lie on several devices; empty otherwise.
std::string mixedDevices(const OperatorHandle& op, const Stack& stack) {
  if (!op.hasSchema()) return "";
  const auto& args = op.schema().arguments();
  if (stack.size() < args.size()) return "";
  std::vector<Found> found;
  for (size_t i = 0; i < args.size(); ++i) collectDevices(stack[stack.size() - args.size() + i], args[i].name, found);
  for (const Found& f : found)
    if (!(f.device == found.front().device))
      return detail::str("Expected all tensors to be on the same device, but found at least two devices, ", found.front().device,
                         " (argument ", found.front().argument, ") and ", f.device, " (argument ", f.argument, ")!");
  return "";
}

std::string whatToDo(DispatchKey key) {
  if (key == DispatchKey::Undefined)
    return "There were no tensor arguments and no options that choose a backend; the operator needs a kernel that is "
           "independent of backends (CompositeExplicitAutograd).";
  const KeyParts& parts = partsOf(key);
  if (parts.per_backend && parts.backend != BackendComponent::CPU && parts.backend != BackendComponent::Meta)
    return detail::str("The backend ", toString(parts.backend), " has no kernel for it here: load a library that registers one with "
                       "SHUNT_LIBRARY_IMPL(aten, ", toString(key), ", m), or a fallback for the whole key, or move the tensors to cpu.");
  return detail::str("Register one with SHUNT_LIBRARY_IMPL(<namespace>, ", toString(key), ", m) { m.impl(...); }.");
}

}  // namespace

void missingKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  const DispatchKey key = ks.highestPriorityKey();
  if (std::string mixed = stack != nullptr ? mixedDevices(op, *stack) : ""; !mixed.empty())
    throw Error(detail::str(op.operator_name(), ": ", mixed));
  throw NotImplementedError(detail::str("Could not run '", op.operator_name(), "' with arguments from the '", key, "' backend. ",
                                        whatToDo(key), "\nIt is registered for:\n", op.dumpState()));
}

void ambiguousAutogradOtherKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet, Stack*) {
  throw Error(detail::str("operator ", op.operator_name(), ": its CompositeImplicitAutograd kernel and a kernel of a backend without "
                          "an Autograd key of its own both serve AutogradOther, and which one defines the gradient is ambiguous. "
                          "Register a kernel for AutogradOther.\nIt is registered for:\n", op.dumpState()));
}

void KernelFunction::fallthroughKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack*) {
  SHUNT_INTERNAL_ASSERT(false, "a fallthrough kernel of ", op.operator_name(), " was called with keys ", ks);
}

void boxing::throwForeignReference(const OperatorHandle& op) {
  throw Error(detail::str("operator ", op.operator_name(), ": a boxed kernel of an in-place or out= operator has to return the argument "
                          "that it wrote, and returned another tensor"));
}

void detail::throwNeverRegistered(const Operator& op) {
  throw Error(str("operator ", op.name(), op.overload().empty() ? "" : ".", op.overload(), " has neither a definition nor a kernel"));
}

}  // namespace shunt
