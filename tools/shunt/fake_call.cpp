// Whether a call would throw, found without its elements.
#include <shunt/core/complete_arguments.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/transforms/fake_tensor.h>

#include "tools/shunt/call.h"

namespace shunt::cli {

std::string whyCallThrows(const OperatorHandle& op, const CallArguments& arguments) {
  Stack stack = completeArguments(op, arguments.positional, arguments.named, "explain");
  FakeTensorMode mode;
  try {
    mapTensors(stack, stack.size(), [&](const Tensor& t) { return mode.from_tensor(t); });
    op.callBoxed(&stack);
  } catch (const std::exception& e) {
    const std::string_view message = e.what();
    return message.find("fake tensor") == message.npos ? std::string(message) : "";  // the real call's is another one
  }
  return "";
}

}  // namespace shunt::cli
