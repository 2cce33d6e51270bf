#include "kernels/nn/pool_geometry.h"

#include <shunt/core/error.h>

#include <algorithm>

namespace shunt::nn {
namespace {

void pairInto(int64_t (&to)[2], IntArrayRef values) {
  to[0] = values[0];
  to[1] = values[values.size() == 1 ? 0 : 1];
}

bool isPair(IntArrayRef values) { return values.size() == 1 || values.size() == 2; }

/// Numbers of 32 bits, so that no product of two is beyond 64.
void checkRange(const char* op, const char* name, IntArrayRef values) {
  for (const int64_t v : values)
    SHUNT_CHECK(v == static_cast<int32_t>(v), op, "(): expected ", name, " to be of 32 bits, but got ", name, "=",
                values, ": integer out of range");
}

void checkPairs(const PoolArguments& a) {
  SHUNT_CHECK(isPair(a.kernel), a.op, ": kernel_size must either be a single int, or a tuple of two ints");
  SHUNT_CHECK(a.stride.empty() || isPair(a.stride), a.op,
              ": stride must either be omitted, a single int, or a tuple of two ints");
  SHUNT_CHECK(isPair(a.padding), a.op, ": padding must either be a single int, or a tuple of two ints");
  SHUNT_CHECK(a.dilation.empty() || isPair(a.dilation), a.op,
              ": dilation must either be a single int, or a tuple of two ints");
  checkRange(a.op, "kernel_size", a.kernel);
  checkRange(a.op, "stride", a.stride);
  checkRange(a.op, "padding", a.padding);
  checkRange(a.op, "dilation", a.dilation);
}

void checkPositive(const char* what, const char* name, const int64_t (&values)[2]) {
  SHUNT_CHECK(values[0] > 0 && values[1] > 0, what, " should be greater than zero, but got ", name, "H: ", values[0],
              ' ', name, "W: ", values[1]);
}

int64_t divideDown(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

int64_t outputOf(const PoolShape& s, size_t d, bool ceil_mode) {
  SHUNT_CHECK(s.stride[d] != 0, "stride should not be zero");
  SHUNT_CHECK(s.padding[d] >= 0, "pad must be non-negative, but got pad: ", s.padding[d]);
  SHUNT_CHECK(s.padding[d] <= s.kernel[d] / 2, "pad should be at most half of kernel size, but got pad=", s.padding[d],
              " and kernel_size=", s.kernel[d]);
  const int64_t last = s.input[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
  const int64_t size = divideDown(last + (ceil_mode ? s.stride[d] - 1 : 0), s.stride[d]) + 1;
  // The last window begins inside of the image or of the padding before it.
  return ceil_mode && (size - 1) * s.stride[d] >= s.input[d] + s.padding[d] ? size - 1 : size;
}

void checkInput(const TensorImpl& input) {
  const IntArrayRef sizes = input.sizes();
  const int64_t dims = input.dim();
  bool good = dims == 3 || dims == 4;
  for (int64_t d = dims - 3; good && d < dims; ++d) good = sizes[static_cast<size_t>(d)] != 0;
  SHUNT_CHECK(good, "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:", sizes);
}

int64_t planesOf(const TensorImpl& input) {
  int64_t planes = 1;
  for (int64_t d = 0; d < input.dim() - 2; ++d) planes *= input.sizes()[static_cast<size_t>(d)];
  return planes;
}

}  // namespace

PoolShape checkedPool(const TensorImpl& input, const PoolArguments& a) {
  checkPairs(a);
  checkInput(input);
  PoolShape s;
  s.planes = planesOf(input);
  const IntArrayRef sizes = input.sizes();
  for (size_t d = 0; d < 2; ++d) s.input[d] = sizes[sizes.size() - 2 + d];
  pairInto(s.kernel, a.kernel);
  pairInto(s.stride, a.stride.empty() ? a.kernel : a.stride);
  pairInto(s.padding, a.padding);
  if (!a.dilation.empty()) pairInto(s.dilation, a.dilation);
  checkPositive("kernel size", "k", s.kernel);
  checkPositive("stride", "d", s.stride);
  checkPositive("dilation", "dilation", s.dilation);
  for (size_t d = 0; d < 2; ++d) s.output[d] = outputOf(s, d, a.ceil_mode);
  const int64_t channels = sizes[sizes.size() - 3];
  SHUNT_CHECK(s.output[0] >= 1 && s.output[1] >= 1, "Given input size: (", channels, 'x', s.input[0], 'x', s.input[1],
              "). Calculated output size: (", channels, 'x', s.output[0], 'x', s.output[1],
              "). Output size is too small");
  return s;
}

std::vector<int64_t> pooledSizes(const TensorImpl& input, const int64_t (&output)[2]) {
  std::vector<int64_t> sizes = input.sizes().vec();
  std::copy_n(output, 2, sizes.end() - 2);
  return sizes;
}

Averages averagesOf(const PoolShape& shape, bool count_include_pad, std::optional<int64_t> divisor) {
  SHUNT_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  Averages a;
  a.shape = shape;
  a.count_include_pad = count_include_pad;
  a.divisor = divisor.value_or(0);
  return a;
}

Averages adaptiveAverages(const char* op, const TensorImpl& input, IntArrayRef output) {
  SHUNT_CHECK(output.size() == 2, "adaptive_avg_pool2d: output_size must be 2");
  const int64_t dims = input.dim();
  SHUNT_CHECK(dims == 3 || dims == 4, op, "(): Expected 3D or 4D tensor, but got ", input.sizes());
  Averages a;
  a.adaptive = true;
  a.shape.planes = planesOf(input);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = input.sizes()[static_cast<size_t>(dims) - 2 + d], positions = output[d];
    SHUNT_CHECK(size > 0, op, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
                input.sizes(), " with dimension ", dims - 2 + static_cast<int64_t>(d), " being empty");
    SHUNT_CHECK(positions >= 0, op, ": elements of output_size must be greater than or equal to 0 but received ",
                output);
    a.shape.input[d] = size;
    a.shape.output[d] = positions;
  }
  return a;
}

std::vector<Averages::Window> Averages::windows(size_t d) const {
  const int64_t size = shape.input[d], positions = shape.output[d];
  std::vector<Window> windows;
  windows.reserve(static_cast<size_t>(positions));
  for (int64_t p = 0; p < positions; ++p) {
    if (adaptive) {
      using Wide = __int128;
      const auto begin = static_cast<int64_t>(Wide{p} * size / positions);
      const auto end = static_cast<int64_t>((Wide{p + 1} * size + positions - 1) / positions);
      windows.push_back({begin, end, end - begin});
      continue;
    }
    const int64_t from = p * shape.stride[d] - shape.padding[d];
    const int64_t to = std::min(from + shape.kernel[d], size + shape.padding[d]);
    const int64_t begin = std::max<int64_t>(from, 0), end = std::min(to, size);
    windows.push_back({begin, end, count_include_pad ? to - from : end - begin});
  }
  return windows;
}

}  // namespace shunt::nn
