// How a tensor's printed form names its node: autograd's half of src/tensor/printing.h.
#include "src/tensor/printing.h"

#include <shunt/autograd/node.h>

namespace shunt::detail {

std::string gradFnName(const Tensor& tensor) {
  const auto& grad_fn = tensor.grad_fn();
  return grad_fn ? grad_fn->name() : std::string();
}

}  // namespace shunt::detail
