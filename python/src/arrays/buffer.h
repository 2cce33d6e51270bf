// Tensor's side of the buffer protocol.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

/// Exports the memory of CPU tensors that don't require grad, writable, with their shape and strides. BufferError for
/// others, for bfloat16, which buffers have no letter for, and for orders that the tensor doesn't have.
extern PyBufferProcs tensor_buffer;

}  // namespace shunt::python
