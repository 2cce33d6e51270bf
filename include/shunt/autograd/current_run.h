// The backward pass that runs on the calling thread, for hooks that need to know about it.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// The pass's number, unique in the process. -1 outside a pass.
SHUNT_API int64_t current_run_id();
/// Whether the pass calls, or has called, this node. Throws outside a pass.
SHUNT_API bool current_run_calls(const Node& node);

}  // namespace shunt::autograd
