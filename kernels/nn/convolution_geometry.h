// The checks and shapes of convolution and convolution_backward. Pure functions; any thread.
#pragma once

#include "kernels/nn/convolution.h"

#include <shunt/tensor/tensor_impl.h>

#include <vector>

namespace shunt::nn {

/// Arguments that say how the window moves, as the operators have them.
struct ConvArguments {
  IntArrayRef stride, padding, dilation;
  bool transposed;
  IntArrayRef output_padding;
  int64_t groups;
};

struct ConvGeometry {
  std::vector<int64_t> result;  // the result's sizes
  ConvShape shape;              // of a transposed convolution that of which it is the gradient
};

/// Throws as PyTorch's convolution; `bias` may be null.
ConvGeometry checkedConvolution(const TensorImpl& input, const TensorImpl& weight, const TensorImpl* bias,
                                const ConvArguments& arguments);

}  // namespace shunt::nn
