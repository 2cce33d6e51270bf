#include "kernels/nn/convolution_geometry.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <sstream>

namespace shunt::nn {
namespace {

/// One value for each dimension of the image, of which there are one or two: in the last ones of `to`.
void expandInto(int64_t (&to)[2], const char* name, IntArrayRef values, int64_t dims) {
  SHUNT_CHECK(values.size() == 1 || values.size() == static_cast<size_t>(dims), "expected ", name,
              " to be a single integer value or a list of ", dims,
              " values to match the convolution dimensions, but got ", name, "=", values);
  for (int64_t d = 0; d < dims; ++d) to[2 - dims + d] = values[values.size() == 1 ? 0 : static_cast<size_t>(d)];
}

bool anyBelow(const int64_t (&values)[2], int64_t least) { return values[0] < least || values[1] < least; }

std::string joined(const std::vector<int64_t>& sizes) {
  std::ostringstream text;
  for (size_t d = 0; d < sizes.size(); ++d) text << (d ? " x " : "") << sizes[d];
  return text.str();
}

void checkWeight(const TensorImpl& input, const TensorImpl& weight, int64_t groups) {
  SHUNT_CHECK(weight.dim() == input.dim(), "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
              "-dimensional weight ", weight.sizes(), ", but got ", input.dim(), "-dimensional input of size ",
              input.sizes(), " instead");
  SHUNT_CHECK(weight.sizes()[0] >= groups, "Given groups=", groups, ", expected weight to be at least ", groups,
              " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  SHUNT_CHECK(weight.sizes()[0] % groups == 0, "Given groups=", groups, ", expected weight to be divisible by ", groups,
              " at dimension 0, but got weight of size ", weight.sizes(), " instead");
}

void checkBias(const TensorImpl& weight, const TensorImpl* bias, bool transposed, int64_t channels) {
  SHUNT_CHECK(bias == nullptr || (bias->dim() == 1 && bias->sizes()[0] == channels), "Given ",
              transposed ? "transposed=1, " : "", "weight of size ", weight.sizes(),
              ", expected bias to be 1-dimensional with ", channels, " elements, but got bias of size ", bias->sizes(),
              " instead");
}

void checkChannels(const TensorImpl& input, const TensorImpl& weight, const ConvArguments& a, int64_t channels) {
  SHUNT_CHECK(input.sizes()[1] == channels, "Given ",
              a.transposed ? "transposed=1" : "groups=", a.transposed ? "" : std::to_string(a.groups),
              ", weight of size ", weight.sizes(), ", expected input", input.sizes(), " to have ", channels,
              " channels, but got ", input.sizes()[1], " channels instead");
}

void checkTypes(const TensorImpl& input, const TensorImpl& weight, const TensorImpl* bias) {
  SHUNT_CHECK(input.dtype() == weight.dtype(), "Input type (", input.dtype(), ") and weight type (", weight.dtype(),
              ") should be the same");
  SHUNT_CHECK(bias == nullptr || input.dtype() == bias->dtype(), "Input type (", input.dtype(), ") and bias type (",
              bias->dtype(), ") should be the same");
}

/// Sizes and strides below 2^62, so that the sum of two fits; others are refused before anything depends on them.
int64_t checkedExtent(__int128 value, const ConvArguments& a) {
  constexpr __int128 kMost = (int64_t{1} << 62) - 1;
  SHUNT_CHECK(value >= -kMost && value <= kMost,
              "convolution: expected stride, padding and dilation that give sizes below 2^62, got stride=", a.stride,
              ", padding=", a.padding, ", dilation=", a.dilation, ", output_padding=", a.output_padding);
  return static_cast<int64_t>(value);
}

/// Sizes of what the window runs over: [height, width].
struct Extent {
  int64_t& operator[](int d) { return d == 0 ? height : width; }
  int64_t height = 1, width = 1;
};

void checkKernelFits(const ConvShape& s, int64_t dims) {
  const int64_t sizes[2] = {s.height, s.width};
  std::vector<int64_t> padded, kernel;
  bool fits = true;
  for (int64_t d = 2 - dims; d < 2; ++d) {
    padded.push_back(sizes[d] + 2 * s.padding[d]);
    kernel.push_back(s.dilation[d] * (s.kernel[d] - 1) + 1);
    fits = fits && padded.back() >= kernel.back();
  }
  SHUNT_CHECK(fits, "Calculated padded input size per channel: (", joined(padded), "). Kernel size: (", joined(kernel),
              "). Kernel size can't be greater than actual input size");
}

void checkTransposed(const ConvShape& s, const int64_t (&output_padding)[2], int64_t dims) {
  const int64_t given[2] = {s.out_height, s.out_width}, made[2] = {s.height, s.width};
  std::vector<int64_t> input, output;
  bool positive = true, small = true;
  for (int64_t d = 2 - dims; d < 2; ++d) {
    input.push_back(given[d]);
    output.push_back(made[d]);
    positive = positive && made[d] >= 1;
    small = small && (output_padding[d] < s.stride[d] || output_padding[d] < s.dilation[d]);
  }
  SHUNT_CHECK(small, "output padding must be smaller than either stride or dilation, but got output_padding_height: ",
              output_padding[0], " output_padding_width: ", output_padding[1], " stride_height: ", s.stride[0],
              " stride_width: ", s.stride[1], " dilation_height: ", s.dilation[0], " dilation_width: ", s.dilation[1]);
  SHUNT_CHECK(positive, "Given input size per channel: (", joined(input), "). Calculated output size per channel: (",
              joined(output), "). Output size is too small");
}

}  // namespace

ConvGeometry checkedConvolution(const TensorImpl& input, const TensorImpl& weight, const TensorImpl* bias,
                                const ConvArguments& a) {
  const int64_t dims = weight.dim() - 2;
  SHUNT_CHECK(dims > 0, "weight should have at least three dimensions");
  SHUNT_CHECK(dims <= 2, "convolution: expected weight of 3 or 4 dimensions, for images of 1 or 2; got ",
              weight.sizes());
  ConvShape s;
  int64_t output_padding[2] = {0, 0};
  expandInto(s.stride, "stride", a.stride, dims);
  expandInto(s.padding, "padding", a.padding, dims);
  expandInto(s.dilation, "dilation", a.dilation, dims);
  expandInto(output_padding, "output_padding", a.output_padding, dims);
  SHUNT_CHECK(!anyBelow(s.padding, 0), "negative padding is not supported");
  SHUNT_CHECK(!anyBelow(output_padding, 0), "negative output_padding is not supported");
  SHUNT_CHECK(!anyBelow(s.stride, 1), "non-positive stride is not supported");
  SHUNT_CHECK(!anyBelow(s.dilation, 1), "dilation should be greater than zero, but got ", a.dilation);
  SHUNT_CHECK(a.groups > 0, "non-positive groups is not supported");
  checkWeight(input, weight, a.groups);
  const IntArrayRef in = input.sizes(), w = weight.sizes();
  const int64_t channels = a.transposed ? w[1] * a.groups : w[0];
  checkChannels(input, weight, a, a.transposed ? w[0] : w[1] * a.groups);
  checkBias(weight, bias, a.transposed, channels);
  checkTypes(input, weight, bias);
  s.samples = in[0];
  s.groups = a.groups;
  s.in = w[1] * a.groups;
  s.out = w[0];
  Extent image, result;
  Extent& known = a.transposed ? result : image;
  for (int64_t d = 2 - dims; d < 2; ++d) {
    const auto of = static_cast<size_t>(d + dims);
    s.kernel[d] = w[of];
    SHUNT_CHECK(w[of] > 0, "convolution: expected a kernel of at least one element, got weight of size ", w);
    known[static_cast<int>(d)] = in[of];
    checkedExtent(s.stride[d], a);
    using Wide = __int128;
    const Wide padding = Wide{2} * checkedExtent(s.padding[d], a);
    const int64_t reach = checkedExtent(Wide{s.dilation[d]} * (s.kernel[d] - 1) + 1, a);
    if (a.transposed) {
      const Wide padded = Wide{in[of] - 1} * s.stride[d] + reach + output_padding[d];
      checkedExtent(padded, a);
      image[static_cast<int>(d)] = checkedExtent(padded - padding, a);
    } else {
      result[static_cast<int>(d)] = (checkedExtent(in[of] + padding, a) - reach) / s.stride[d] + 1;
    }
  }
  s.height = image.height;
  s.width = image.width;
  s.out_height = result.height;
  s.out_width = result.width;
  a.transposed ? checkTransposed(s, output_padding, dims) : checkKernelFits(s, dims);
  SHUNT_CHECK(input.numel() != 0 || in[0] == 0 || in[1] == 0,
              "Only zero batch or zero channel inputs are supported, but got input shape: ", in);
  Extent& made = a.transposed ? image : result;
  std::vector<int64_t> sizes = {in[0], channels};
  for (int64_t d = 2 - dims; d < 2; ++d) sizes.push_back(made[static_cast<int>(d)]);
  return {std::move(sizes), s};
}

}  // namespace shunt::nn
