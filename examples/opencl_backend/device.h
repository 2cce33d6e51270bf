// The OpenCL device as Shunt sees it: its name, its allocator and its guard.
#pragma once

#include <shunt/backend.h>

namespace opencl {

/// Names the device, and registers its allocator and guard. Throws when there is no OpenCL device.
void registerDevice();

}  // namespace opencl
