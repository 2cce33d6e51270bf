// newResult and hasData: what a kernel that serves CPU and Meta alike needs. It checks, makes its result, and stops
// there when there is no data, so that shapes, dtypes and errors have one definition. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// Uninitialised and contiguous, on the device of `like`, which is CPU or Meta.
SHUNT_ALWAYS_INLINE Tensor newResult(const TensorImpl& like, IntArrayRef sizes, ScalarType dtype) {
  const Device device = like.device();
  if (device.is_cpu()) [[likely]]
    return Tensor(detail::makeCpuTensor(sizes, {}, dtype));
  return Tensor(detail::makeTensor(sizes, {}, dtype, device));
}

/// Whether there are elements to read and write.
SHUNT_ALWAYS_INLINE bool hasData(const TensorImpl& t) { return t.device().is_cpu(); }

}  // namespace shunt::native
