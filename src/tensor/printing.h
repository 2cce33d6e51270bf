// Printing's views into the layers above. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <string>

namespace shunt::detail {

/// The name of the tensor's grad_fn; empty when it has none. Defined in src/autograd.
std::string gradFnName(const Tensor& tensor);

/// What the class of a wrapper tensor prints. Defined in src/interpose.
std::string wrapperToString(const Tensor& tensor);
/// What a functional tensor prints, in src/transforms/functionalize.
std::string functionalToString(const Tensor& tensor);

/// The value of a tensor that grad's function has made, or computed, and of which nothing is recorded; null for others.
/// Defined in src/transforms.
const Tensor* constantBehind(const Tensor& wrapper);

}  // namespace shunt::detail
