#include "kernels/rows/reduce_operator.h"

#include <shunt/ops.h>

namespace shunt::reduce {

void checkNotEmpty(const char* name, const TensorImpl& self, OptionalIntArrayRef dims) {
  if (self.numel() != 0) [[likely]]
    return;
  SHUNT_CHECK(dims.has_value() && !dims->empty(), name,
              "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
              "'dim' argument.");
  for (const int64_t d : *dims) {
    const int64_t dim = maybe_wrap_dim(d, self.dim());
    SHUNT_CHECK_INDEX(self.dim() == 0 || self.sizes()[static_cast<size_t>(dim)] != 0, name,
                      "(): Expected reduction dim ", dim, " to have non-zero size.");
  }
}

rows::Results runConverted(const rows::Request& r) {
  const Tensor input = ops::to_dtype::call(r.self, r.result, false, false, std::nullopt);
  return rows::run({r.op, input, r.dims, r.keepdim, r.result, r.number});
}

}  // namespace shunt::reduce
