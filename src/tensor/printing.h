// Printing's one view into autograd, which is a layer above. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <string>

namespace shunt::detail {

/// The name of the tensor's grad_fn; empty when it has none. Defined in src/autograd.
std::string gradFnName(const Tensor& tensor);

}  // namespace shunt::detail
