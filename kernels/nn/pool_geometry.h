// The checks and shapes of the pooling operators. Pure functions; any thread.
#pragma once

#include "kernels/nn/pool.h"

namespace shunt::nn {

/// The window of max_pool2d and avg_pool2d, as the operators have it. Of an average the dilation is empty.
struct PoolArguments {
  const char* op;
  IntArrayRef kernel, stride, padding, dilation;
  bool ceil_mode;
};

/// Throws as PyTorch's pooling.
PoolShape checkedPool(const TensorImpl& input, const PoolArguments& arguments);

/// The sizes of a result of `output` for an input of one or no dimension of samples.
std::vector<int64_t> pooledSizes(const TensorImpl& input, const int64_t (&output)[2]);

Averages averagesOf(const PoolShape& shape, bool count_include_pad, std::optional<int64_t> divisor);
/// Windows of about equal size that cover everything, as many as `output` says.
Averages adaptiveAverages(const char* op, const TensorImpl& input, IntArrayRef output);

}  // namespace shunt::nn
