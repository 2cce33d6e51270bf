// How Python's fallback reaches the classes of wrapper tensors (Note [Tensor subclasses]).
#pragma once

#include <shunt/core/op_state.h>

namespace shunt {

/// Lets the class of the first wrapper among the arguments that accepts the call handle it. False, and nothing done,
/// where no argument is a wrapper; throws when all their classes decline.
bool handleBySubclass(const OperatorHandle& op, Stack* stack);

}  // namespace shunt
