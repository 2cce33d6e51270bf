// What programs ask of CUDA before they use it. It answers from the device guard that a CUDA backend registers
// (shunt/tensor/device_guard.h); without one there is no device. Any thread.
#pragma once

#include <shunt/tensor/device_guard.h>

namespace shunt::cuda {

/// How many CUDA devices there are; 0 without a backend. As torch::cuda::device_count.
inline DeviceIndex device_count() {
  return hasDeviceGuardImpl(kCUDA) ? getDeviceGuardImpl(kCUDA).deviceCount() : DeviceIndex{0};
}
/// Whether tensors can be made on a CUDA device. As torch::cuda::is_available.
inline bool is_available() { return device_count() > 0; }
/// Waits for the work queued on a device, the current one for -1. Throws without a backend.
inline void synchronize(DeviceIndex index = -1) {
  static_cast<void>(getDeviceGuardImpl(kCUDA));
  shunt::synchronize(Device(kCUDA, index));
}

}  // namespace shunt::cuda
