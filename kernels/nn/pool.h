// Pooling: windows over the planes of images, their largest element or their average. A plane is one channel of one
// sample; threads share whole planes. Memory is dense. Pure functions of their arguments; any thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <vector>

namespace shunt::nn {

/// The planes' sizes and the window's, per dimension: down, across.
struct PoolShape {
  int64_t planes = 1;
  int64_t input[2], output[2];
  int64_t kernel[2], stride[2], padding[2], dilation[2] = {1, 1};

  int64_t inputSize() const { return input[0] * input[1]; }
  int64_t outputSize() const { return output[0] * output[1]; }
};

/// `indices` of int64: where in its plane the largest element is; of several the first one, of NaNs the last. A window
/// that meets padding only, as dilated ones may, has -inf and the index -1, and no gradient.
void maxPool(const PoolShape& shape, const TensorImpl& x, const TensorImpl& out, const TensorImpl& indices);
/// Throws where an index points beyond its plane.
void maxPoolBackward(const PoolShape& shape, const TensorImpl& grad, const TensorImpl& indices, const TensorImpl& out);

/// What an average is taken of, and what the sum is divided by.
struct Averages {
  /// Elements [begin, end) of a dimension.
  struct Window {
    int64_t begin, end;
    int64_t counted;  // elements, padding included where that counts
  };
  PoolShape shape;
  bool adaptive = false;  // windows of about equal size that cover everything, whatever the shape's
  bool count_include_pad = false;
  int64_t divisor = 0;  // for all; 0: the elements counted

  /// One for each position of the result in dimension d.
  std::vector<Window> windows(size_t d) const;
  int64_t divisorOf(const Window& y, const Window& x) const { return divisor != 0 ? divisor : y.counted * x.counted; }
};

void average(const Averages& a, const TensorImpl& x, const TensorImpl& out);
void averageBackward(const Averages& a, const TensorImpl& grad, const TensorImpl& out);

}  // namespace shunt::nn
