// How the values of one call's tensors are put side by side for broadcasting. Pure functions; outside of the level.
#pragma once

#include "src/transforms/vmap/call.h"

namespace shunt::levels {

/// The most dimensions that a tensor of the call shows.
int64_t mostDims(const BatchedCall& call);
/// The value with the batch in front and dimensions of size 1 after it, so that it shows `dims` of them. A tensor
/// without batch as it is: it broadcasts.
Tensor aligned(const BatchedCall& call, const Tensor& t, int64_t dims);
/// The call's arguments, with all tensors so.
Stack alignedArguments(const BatchedCall& call);

}  // namespace shunt::levels
