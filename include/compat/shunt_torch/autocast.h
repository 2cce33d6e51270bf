// Autocast by PyTorch's names, for kernels at Autocast keys. Functions assume CUDA if no device type is given. They use
// the calling thread's autocast state.
#pragma once

#include <shunt/transforms/autocast.h>

namespace shunt::torch_autocast {

inline bool is_enabled() { return autocast::is_enabled(kCUDA); }
inline bool is_cpu_enabled() { return autocast::is_enabled(kCPU); }
inline ScalarType get_autocast_cpu_dtype() { return autocast::lower_precision_dtype(kCPU); }

/// `arg` cast to `to` if autocast on the device type applies to it, else `arg` itself.
inline Tensor cached_cast(ScalarType to, const Tensor& arg, DeviceType device = kCUDA) {
  return autocast::cached_cast(to, arg, device);
}
inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& arg, DeviceType device = kCUDA) {
  return autocast::cached_cast(to, arg, device);
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList arg, DeviceType device = kCUDA) {
  return autocast::cached_cast(to, arg, device);
}

}  // namespace shunt::torch_autocast
