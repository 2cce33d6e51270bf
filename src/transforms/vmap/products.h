// What is asked before a level of vmap runs a product otherwise than by its composite. Any thread.
#pragma once

#include <shunt/core/op_state.h>

#include <span>

namespace shunt::levels {

/// All operators that `linear` of a row, or `outer`, calls by its kernel and by what runs in the kernel's place, with
/// their first and second gradients; empty for others.
SHUNT_API std::span<const Operator* const> partsOf(const Operator& op);

}  // namespace shunt::levels
