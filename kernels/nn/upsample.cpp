// Signals and images resampled by their nearest elements or by lines between two, made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shunt::native {
namespace {

using Factor = std::optional<double>;

/// One of the dimensions that are resampled.
struct Axis {
  int64_t dim, size, out;
  double step;  // from one result's source to the next one's
};

double stepOf(int64_t size, int64_t out, Factor factor, bool align_corners) {
  if (align_corners) return out > 1 ? static_cast<double>(size - 1) / static_cast<double>(out - 1) : 0.0;
  return factor && *factor > 0 ? 1.0 / *factor : static_cast<double>(size) / static_cast<double>(out);
}

template <size_t N>
std::array<Axis, N> axesOf(const char* name, const Tensor& self, IntArrayRef output_size, bool align_corners,
                           const std::array<Factor, N>& factors) {
  const ScalarType dtype = implOf(self, name).dtype();
  SHUNT_CHECK(output_size.size() == N, "It is expected output_size equals to ", N, ", but got size ",
              output_size.size());
  SHUNT_CHECK(self.dim() == N + 2, "It is expected input_size equals to ", N + 2, ", but got size ", self.dim());
  SHUNT_CHECK(self.size(1) != 0, "Non-empty ", N + 2, "D data tensor expected but got a tensor with sizes ",
              self.sizes());
  std::array<Axis, N> axes;
  for (size_t i = 0; i < N; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t size = self.size(dim), out = output_size[i];
    SHUNT_CHECK(size > 0 && out > 0, "Input and output sizes should be greater than 0, but got input of shape ",
                self.sizes(), " and output of size ", output_size);
    axes[i] = {dim, size, out, stepOf(size, out, factors[i], align_corners)};
  }
  if (!isFloatingType(dtype) && dtype != kByte) detail::throwNotImplementedFor(name, dtype);
  return axes;
}

Tensor numbered(const Tensor& x, int64_t count) {
  return shunt::arange(count, TensorOptions(kDouble).device(x.device()));
}

Tensor inLayoutOf(const Tensor& self, const Tensor& result) {
  const bool channels_last = self.dim() == 4 && self.is_contiguous(MemoryFormat::ChannelsLast) && !self.is_contiguous();
  return result.contiguous(channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
}

template <size_t N>
Tensor nearest(const char* name, const Tensor& self, IntArrayRef output_size, const std::array<Factor, N>& factors) {
  Tensor result = self;
  for (const Axis& a : axesOf(name, self, output_size, false, factors)) {
    // As in PyTorch, images that keep or double their size do so whatever the factor; signals don't.
    // It counts in float32, which decides where a place falls on a whole number.
    const double step = N == 1 ? a.step : a.out == a.size ? 1.0 : a.out == 2 * a.size ? 0.5 : a.step;
    const Tensor places = numbered(self, a.out).to(kFloat).mul(step).floor().clamp_max(a.size - 1);
    result = result.index_select(a.dim, places.to(kLong));
  }
  return inLayoutOf(self, result);
}

double sourceOf(int64_t i, const Axis& a, bool align_corners) {
  const auto at = static_cast<double>(i);
  return std::max(align_corners ? at * a.step : (at + 0.5) * a.step - 0.5, 0.0);
}

/// Bytes are weighted by whole numbers: the largest power of 2 by which all weights become numbers of 16 bits.
double wholeOne(const Axis& a, bool align_corners) {
  double largest = 0, one = 1;
  for (int64_t i = 0; i < a.out; ++i) {
    const double at = sourceOf(i, a, align_corners);
    const double upper = std::min(at - std::min(std::floor(at), static_cast<double>(a.size - 1)), 1.0);
    largest = std::max({largest, upper, 1.0 - upper});
  }
  while (one < 0x1p22 && 0.5 + largest * one * 2 < 0x1p15) one *= 2;
  return one;
}

Tensor lineAlong(const Tensor& x, const Axis& a, bool align_corners, bool as_bytes) {
  const Tensor numbers = numbered(x, a.out);
  const Tensor sources = (align_corners ? numbers.mul(a.step) : numbers.add(0.5).mul(a.step).sub(0.5)).clamp_min(0);
  const Tensor first = sources.floor().clamp_max(a.size - 1);
  const Tensor upper = sources.sub(first).clamp_max(1);
  const Tensor low = first.to(kLong), high = low.add(1).clamp_max(a.size - 1);
  const double one = as_bytes ? wholeOne(a, align_corners) : 1;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(a.dim)] = a.out;
  const auto part = [&](const Tensor& places, const Tensor& weights) {
    const Tensor factors = as_bytes ? weights.mul(one).add(0.5).floor() : weights;
    return x.index_select(a.dim, places).mul(factors.to(x.scalar_type()).reshape(shape));
  };
  const Tensor sum = part(low, upper.neg().add(1)).add(part(high, upper));
  return as_bytes ? sum.add(one / 2).div(one).floor().clamp(0, 255) : sum;
}

// Bytes are bytes again after each dimension, the last one first.
template <size_t N>
Tensor linear(const char* name, const Tensor& self, IntArrayRef output_size, bool align_corners,
              const std::array<Factor, N>& factors) {
  std::array<Axis, N> axes = axesOf(name, self, output_size, align_corners, factors);
  const bool as_bytes = self.scalar_type() == kByte;
  for (Axis& a : axes)
    if (a.out == a.size) a.step = 1.0;  // as in PyTorch, whatever the factor
  if (as_bytes) std::reverse(axes.begin(), axes.end());
  Tensor result = as_bytes ? self.to(kFloat) : self;
  for (const Axis& a : axes) result = lineAlong(result, a, align_corners, as_bytes);
  return inLayoutOf(self, result.to(self.scalar_type()));
}

}  // namespace

Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales) {
  return nearest<1>("upsample_nearest1d", self, output_size, {scales});
}
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  return nearest<2>("upsample_nearest2d", self, output_size, {scales_h, scales_w});
}
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales) {
  return linear<1>("upsample_linear1d", self, output_size, align_corners, {scales});
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h, std::optional<double> scales_w) {
  return linear<2>("upsample_bilinear2d", self, output_size, align_corners, {scales_h, scales_w});
}

}  // namespace shunt::native
