// The loops behind convolutions in two dimensions: the product of weights and windows of an image, and its two
// gradients. A convolution in one dimension is one of height 1; a transposed one is the gradient of the image.
//
// Memory is dense and row-major: images [samples, in, height, width], results [samples, out, out_height, out_width],
// weights [out, in / groups, kernel height, kernel width]. float goes to oneDNN where that has code for the shape, all
// else by way of columns: a matrix of the elements under the window, one column for each position, for gemm. Threads
// share samples in parts that depend on the shape only, and sums over samples are added up part by part, so results
// don't depend on the number of threads; between CPUs they may differ as those of matrix products do (gemm.h). Pure
// functions of their arguments; any thread.
#pragma once

#include <cstdint>

namespace shunt::nn {

struct ConvShape {
  int64_t samples = 0, groups = 1;
  int64_t in = 0, height = 1, width = 1;
  int64_t out = 0, out_height = 1, out_width = 1;
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};

  int64_t imageSize() const { return in * height * width; }
  int64_t positions() const { return out_height * out_width; }
  int64_t resultSize() const { return out * positions(); }
  /// Terms of the sum that one element of the result is.
  int64_t terms() const { return in / groups * kernel[0] * kernel[1]; }
  int64_t weightSize() const { return out * terms(); }
  /// Multiplications for one sample.
  int64_t cost() const { return resultSize() * terms(); }
};

/// Nothing of the shape is empty. `bias`, of out elements, may be null. Defined for float, double and the integers.
template <class T>
void convolve(const ConvShape& shape, const T* image, const T* weight, const T* bias, T* result);
/// The image's gradient from the result's. Defined as above.
template <class T>
void convolveBack(const ConvShape& shape, const T* grad, const T* weight, T* image);
/// The weights' gradient. Defined for float and double.
template <class T>
void convolveWeight(const ConvShape& shape, const T* grad, const T* image, T* weight);

/// The same by columns, whatever the shape, and by oneDNN, which says false where it has no code for the shape.
namespace columns {
template <class T>
void convolve(const ConvShape& shape, const T* image, const T* weight, const T* bias, T* result);
template <class T>
void convolveBack(const ConvShape& shape, const T* grad, const T* weight, T* image);
template <class T>
void convolveWeight(const ConvShape& shape, const T* grad, const T* image, T* weight);
}  // namespace columns

namespace onednn {
[[nodiscard]] bool convolve(const ConvShape& shape, const float* image, const float* weight, const float* bias,
                            float* result);
[[nodiscard]] bool convolveBack(const ConvShape& shape, const float* grad, const float* weight, float* image);
[[nodiscard]] bool convolveWeight(const ConvShape& shape, const float* grad, const float* image, float* weight);
}  // namespace onednn

}  // namespace shunt::nn
