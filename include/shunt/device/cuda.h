// Queries about CUDA devices, for programs that may use them. The answers come from the device guard that a CUDA
// backend registers (shunt/tensor/device_guard.h). Without one there is no device. Any thread.
#pragma once

#include <shunt/tensor/device_guard.h>

namespace shunt::cuda {

/// The number of CUDA devices; 0 without a backend. As torch::cuda::device_count.
inline DeviceIndex device_count() {
  return hasDeviceGuardImpl(kCUDA) ? getDeviceGuardImpl(kCUDA).deviceCount() : DeviceIndex{0};
}
/// Whether there is a device on which tensors can be made. As torch::cuda::is_available.
inline bool is_available() { return device_count() > 0; }
/// Waits for the work that is queued on a device; -1 is the current one. Throws without a backend.
inline void synchronize(DeviceIndex index = -1) {
  static_cast<void>(getDeviceGuardImpl(kCUDA));
  shunt::synchronize(Device(kCUDA, index));
}

}  // namespace shunt::cuda
