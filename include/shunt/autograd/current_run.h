// The backward pass that is running on this thread, for hooks that need to know.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// A number that no other pass of the process has; -1 outside of one.
SHUNT_API int64_t current_run_id();
/// Whether the pass calls, or has called, this node. Throws outside of one.
SHUNT_API bool current_run_calls(const Node& node);

}  // namespace shunt::autograd
