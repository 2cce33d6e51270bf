// Normalising channels over samples and positions, and its gradient.
//
// Values are [samples, channels, positions]. A channel's elements are copied side by side, in the type that is computed
// in, and summed in the order of Note [Order of reductions] (kernels/rows/loop_table.h), so bits depend on the elements
// alone. Threads share whole channels. Pure functions of their arguments; any thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

namespace shunt::nn {

/// Parameters and statistics are vectors of one dtype, one element a channel; null where there are none.
struct BatchNorm {
  const TensorImpl* x;
  const TensorImpl* weight;
  const TensorImpl* bias;
  const TensorImpl* running_mean;
  const TensorImpl* running_var;
  const TensorImpl* mean;    // written in training: what the channel was normalised by,
  const TensorImpl* invstd;  // 1 / sqrt(variance + eps)
  const TensorImpl* out;     // dense
  bool training;
  double momentum, eps;
};

/// In training the running statistics are updated, too.
void batchNorm(const BatchNorm& norm);

/// Gradients that nobody wants are null; those that are written are dense.
struct BatchNormGradient {
  const TensorImpl* grad;
  const TensorImpl* x;
  const TensorImpl* weight;
  const TensorImpl* mean;      // those that the forward pass saved, in training; else the running ones
  const TensorImpl* variance;  // in training 1 / sqrt(variance + eps)
  const TensorImpl* x_grad;
  const TensorImpl* weight_grad;
  const TensorImpl* bias_grad;
  bool training;
  double eps;
};

void batchNormBackward(const BatchNormGradient& gradient);

}  // namespace shunt::nn
