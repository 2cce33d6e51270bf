// How the fallback of PythonKernel reaches the classes of its tensors (Note [Kernel classes]). Any thread.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt {

/// Whether an argument is of a kernel class.
bool hasKernelClass(const OperatorHandle& op, const Stack& stack);

/// Lets the first class among the arguments that accepts the call handle it. Throws when all decline.
void handleByKernelClass(const OperatorHandle& op, Stack* stack);

}  // namespace shunt
