// Whether a region's description holds together, before anything is made of it. Any thread.
#pragma once

#include <shunt/jit/fused_loop.h>

#include <string>

namespace shunt::jit {

/// What is wrong with it, naming the step, input or output; "" for nothing.
std::string problemOf(const FusedLoopSpec& spec);

}  // namespace shunt::jit
