#include "kernels/linalg/operands.h"

namespace shunt::linalg {

Tensor contiguousCopy(const Tensor& t) { return ops::clone::call(t, MemoryFormat::Contiguous); }

}  // namespace shunt::linalg
