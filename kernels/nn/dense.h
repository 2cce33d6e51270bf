// Tensors as loops along rows want them. Pure functions; any thread.
#pragma once

#include "generated/native_functions.h"

namespace shunt::nn {

/// The tensor, or a contiguous copy of it.
inline Tensor dense(const Tensor& t) {
  return t.is_contiguous() ? t : ops::contiguous::call(t, MemoryFormat::Contiguous);
}

}  // namespace shunt::nn
