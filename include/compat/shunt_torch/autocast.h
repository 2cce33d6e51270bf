// What kernels at Autocast keys use, by PyTorch's names. The device type that it assumes where none is given is CUDA.
#pragma once

#include <shunt/transforms/autocast.h>

namespace shunt::torch_autocast {

inline bool is_enabled() { return autocast::is_enabled(kCUDA); }
inline bool is_cpu_enabled() { return autocast::is_enabled(kCPU); }
inline ScalarType get_autocast_cpu_dtype() { return autocast::lower_precision_dtype(kCPU); }

/// The argument in another dtype, where autocast on that device type is for it.
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
