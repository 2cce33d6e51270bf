// A backend for PrivateUse1 in this process, named "opencl": two devices whose memory is the host's behind handles, so
// that a CPU kernel that reads a device's data pointer crashes. It has the operators that the CPU fallback needs, and
// one kernel (mul.Tensor).
#pragma once

#include <shunt/backend.h>
#include <shunt/shunt.h>

namespace shunt::test {

/// Registers everything for the life of the process; the fallback too, unless told otherwise. Once.
void useHostBackend(bool with_fallback = true);

/// How often the backend's own mul ran.
int& mulCalls();
/// Blocks of device memory that are allocated now.
int& liveBlocks();

inline const Device kToy = Device(kPrivateUse1, 0);

/// 0, 1, 2, ... on the device.
Tensor counted(IntArrayRef sizes, ScalarType dtype = kFloat);

}  // namespace shunt::test
