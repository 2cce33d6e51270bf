// Adding to a leaf's grad, and how a trace sees it: as operators of the library "trace" (src/trace/operators.cpp),
// which stand in a graph where eager code changes the grad itself. Called by the thread that may change the tensor.
#pragma once

#include <shunt/core/ivalue.h>

#include "src/tensor/active_trace.h"

namespace shunt::autograd {

/// What AccumulateGrad does once its hooks have run: the first gradient becomes the leaf's grad, further ones are
/// added. The caller holds the lock of the leaf's accumulator, where others may add.
void accumulate(const Tensor& variable, Tensor grad);

/// The usual case of the above in a few instructions, with grad mode off: a gradient that nobody else holds, of a leaf
/// without a grad, both contiguous and neither fake, becomes the grad as it is. False: nothing was done.
bool keepAsGrad(const Tensor& variable, Tensor& grad);

/// Calls an operator of the library "trace", for activeTrace() to record; its returns.
Stack callRecorded(const char* name, Stack arguments);

}  // namespace shunt::autograd
