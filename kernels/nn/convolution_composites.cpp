// conv1d, conv2d and their transposes, max_pool1d: images with and without a dimension of samples, and padding by name.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

namespace shunt::native {
namespace {

/// What conv1d and conv2d differ in.
struct Dims {
  const char* op;
  int64_t n;  // of an image
};

constexpr Dims kConv1d{"conv1d", 1}, kConv2d{"conv2d", 2}, kTransposed1d{"conv_transpose1d", 1},
    kTransposed2d{"conv_transpose2d", 2};

using Bias = std::optional<Tensor>;

constexpr int64_t kZeros[2] = {0, 0};

/// f(input with a dimension of samples); the result without it where the input has none.
template <class F>
Tensor batched(Dims dims, const Tensor& input, const F& f) {
  implOf(input, dims.op, "input");
  const bool is_batched = input.dim() == dims.n + 2;
  SHUNT_CHECK(is_batched || input.dim() == dims.n + 1, "Expected ", dims.n + 1, "D (unbatched) or ", dims.n + 2,
              "D (batched) input to ", dims.op, ", but got input of size: ", input.sizes());
  if (is_batched) return f(input);
  return ops::squeeze_dim::call(f(ops::unsqueeze::call(input, 0)), 0);
}

Tensor convolve(Dims dims, const Tensor& input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return ops::convolution::call(input, weight, bias, stride, padding, dilation, false,
                                IntArrayRef(kZeros, static_cast<size_t>(dims.n)), groups);
}

/// Zeros after the last element of a dimension.
Tensor padAfter(const Tensor& input, int64_t dim) {
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes[static_cast<size_t>(dim)] = 1;
  const Tensor zeros = ops::new_zeros::call(input, sizes, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  const Tensor parts[2] = {input, zeros};
  return ops::cat::call(TensorList(parts, 2), dim);
}

/// The result of the input's size. Where the padding is odd, the one more is behind.
Tensor convolveSame(Dims dims, Tensor input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                    IntArrayRef dilation, int64_t groups) {
  const int64_t k = weight.dim(), n = k - 2;
  SHUNT_CHECK(n > 0, "weight should have at least three dimensions");
  SHUNT_CHECK(k == input.dim(), "Expected ", k, "-dimensional input for ", k, "-dimensional weight", weight.sizes(),
              ", but got ", input.dim(), "-dimensional input of size ", input.sizes(), " instead");
  const auto count = static_cast<size_t>(n);
  SHUNT_CHECK(stride.size() == count || stride.size() == 1, "stride cannot broadcast to ", n, " dimensions");
  SHUNT_CHECK(dilation.size() == count || dilation.size() == 1, "dilation cannot broadcast to ", n, " dimensions");
  for (const int64_t s : stride) SHUNT_CHECK(s == 1, "padding='same' is not supported for strided convolutions");
  std::vector<int64_t> padding;
  for (size_t d = 0; d < count; ++d) {
    int64_t total = 0;
    SHUNT_CHECK(!__builtin_mul_overflow(dilation[dilation.size() == 1 ? 0 : d],
                                        weight.size(static_cast<int64_t>(d) + 2) - 1, &total),
                dims.op, "(): expected a dilation that gives a padding below 2^63, got dilation=", dilation);
    padding.push_back(total / 2);
    if (total % 2 != 0) input = padAfter(input, static_cast<int64_t>(d) + 2);
  }
  return convolve(dims, input, weight, bias, stride, padding, dilation, groups);
}

Tensor convolveByName(Dims dims, const Tensor& input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  implOf(weight, dims.op, "weight");
  return batched(dims, input, [&](const Tensor& x) {
    if (padding == "same") return convolveSame(dims, x, weight, bias, stride, dilation, groups);
    SHUNT_CHECK(padding == "valid", "Invalid padding string: '", padding, "'");
    return convolve(dims, x, weight, bias, stride, IntArrayRef(kZeros, static_cast<size_t>(dims.n)), dilation, groups);
  });
}

Tensor convolveBatched(Dims dims, const Tensor& input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                       IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return batched(dims, input,
                 [&](const Tensor& x) { return convolve(dims, x, weight, bias, stride, padding, dilation, groups); });
}

Tensor convolveTransposed(Dims dims, const Tensor& input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                          IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  return batched(dims, input, [&](const Tensor& x) {
    return ops::convolution::call(x, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

/// The list as that of rows of one element's height.
std::vector<int64_t> besideOne(IntArrayRef list, int64_t one) {
  if (list.empty()) return {};
  return {one, list[0]};
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return convolveBatched(kConv1d, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return convolveBatched(kConv2d, input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv1d_padding(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return convolveByName(kConv1d, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return convolveByName(kConv2d, input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return convolveTransposed(kTransposed1d, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return convolveTransposed(kTransposed2d, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

// max_pool2d of images of one row.
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  implOf(self, "max_pool1d");
  const std::pair<const char*, IntArrayRef> given[] = {
      {"kernel_size", kernel_size}, {"stride", stride}, {"padding", padding}, {"dilation", dilation}};
  for (const auto& [name, sizes] : given)
    SHUNT_CHECK(sizes.size() <= 1, "max_pool1d(): argument '", name, "' should be one number, but got ", sizes);
  SHUNT_CHECK(self.dim() == 2 || self.dim() == 3, "max_pool1d() Expected 2D or 3D input tensor, but got ",
              self.sizes());
  const Tensor rows = ops::unsqueeze::call(self, -2);
  return ops::squeeze_dim::call(ops::max_pool2d::call(rows, besideOne(kernel_size, 1), besideOne(stride, 1),
                                                      besideOne(padding, 0), besideOne(dilation, 1), ceil_mode),
                                -2);
}

}  // namespace shunt::native
