// Images, weights and windows that fit together, for convolutions and pooling.
#include "tests/parity/draft.h"

#include <algorithm>

namespace parity {
namespace {

using Sizes = std::vector<int64_t>;

/// How a window moves, by dimension of the image.
struct Window {
  Sizes kernel, stride, padding, dilation, output_padding;

  int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

Sizes drawEach(Rng& rng, size_t dims, int64_t lo, int64_t hi) {
  Sizes values(dims);
  for (int64_t& v : values) v = rng.range(lo, hi);
  return values;
}

/// A single number for all dimensions where they are equal.
Value listOf(Rng& rng, const Sizes& values) {
  const bool equal = std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
  return Value::ofInts(equal && rng.chance(0.3) ? Sizes{values[0]} : values);
}

void presetIfAny(Draft& d, const char* name, Value v) {
  if (d.has(name)) d.preset(name, std::move(v));
}

Sizes joined(Sizes front, const Sizes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

int64_t drawSamples(Rng& rng) { return rng.chance(0.05) ? 0 : rng.range(1, 3); }

size_t imageDims(Draft& d) {
  if (d.op.starts_with("conv1d") || d.op.starts_with("conv_transpose1d")) return 1;
  return d.op.starts_with("conv2d") || d.op.starts_with("conv_transpose2d") ? 2
                                                                            : static_cast<size_t>(d.rng.range(1, 2));
}

/// Padding by name: the result's size for `image`, or empty where the argument is a list.
std::string drawPaddingName(Draft& d, Window& w) {
  if (d.schema.findArgument("padding")->type.list) return "";
  const bool same = d.rng.chance(0.6);
  if (same && d.rng.chance(0.9)) w.stride.assign(w.stride.size(), 1);
  w.padding.assign(w.padding.size(), 0);
  return same ? "same" : "valid";
}

ImageShapes drawConvolution(Draft& d) {
  Rng& rng = d.rng;
  const size_t dims = imageDims(d);
  const int64_t groups = rng.pick(Sizes{1, 1, 1, 2, 3}), in = rng.range(1, 3) * groups, out = rng.range(1, 3) * groups;
  const bool transposed = d.op.starts_with("conv_transpose") || (d.has("transposed") && rng.chance(0.25));
  Window w{drawEach(rng, dims, 1, 3), drawEach(rng, dims, 1, 2), drawEach(rng, dims, 0, 2), drawEach(rng, dims, 1, 2),
           Sizes(dims, 0)};
  const std::string name = drawPaddingName(d, w);
  Sizes size(dims), made(dims);
  for (size_t k = 0; k < dims; ++k) {
    if (transposed) {
      w.output_padding[k] = rng.range(0, w.stride[k] - 1);
      size[k] = 2 * w.padding[k] / w.stride[k] + rng.range(1, 4);
      made[k] = (size[k] - 1) * w.stride[k] - 2 * w.padding[k] + w.reach(k) + w.output_padding[k];
      continue;
    }
    size[k] = std::max<int64_t>(w.reach(k) - 2 * w.padding[k], 1) + rng.range(0, 4);
    made[k] = (size[k] + 2 * w.padding[k] - w.reach(k)) / w.stride[k] + 1;
  }
  presetIfAny(d, "groups", Value::ofInt(groups));
  presetIfAny(d, "transposed", Value::ofBool(transposed));
  presetIfAny(d, "stride", listOf(rng, w.stride));
  presetIfAny(d, "padding", name.empty() ? listOf(rng, w.padding) : Value::ofString(name));
  presetIfAny(d, "dilation", listOf(rng, w.dilation));
  presetIfAny(d, "output_padding", listOf(rng, w.output_padding));
  presetIfAny(d, "bias_sizes", Value::ofInts({out}));
  const bool unbatched = !d.op.starts_with("convolution") && rng.chance(0.2);
  const int64_t samples = drawSamples(rng);
  ImageShapes s;
  s.channels = out;
  s.weight = transposed ? joined({in, out / groups}, w.kernel) : joined({out, in / groups}, w.kernel);
  s.image = joined(unbatched ? Sizes{in} : Sizes{samples, in}, size);
  s.result = joined({samples, out}, made);
  return s;
}

int64_t pooledSize(const Window& w, size_t d, int64_t size, bool ceil_mode) {
  const int64_t last = size + 2 * w.padding[d] - w.reach(d);
  const int64_t positions = (last + (ceil_mode ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
  return ceil_mode && (positions - 1) * w.stride[d] >= size + w.padding[d] ? positions - 1 : positions;
}

ImageShapes drawPooling(Draft& d) {
  Rng& rng = d.rng;
  const bool adaptive = d.op.find("adaptive") != std::string::npos, ceil_mode = rng.chance(0.4);
  Window w{drawEach(rng, 2, 1, 3), drawEach(rng, 2, 1, 3), Sizes(2), Sizes(2, 1), {}};
  if (d.op.starts_with("max")) w.dilation = drawEach(rng, 2, 1, 2);
  const bool own_stride = rng.chance(0.7);
  if (!own_stride) w.stride = w.kernel;
  Sizes size(2), made(2);
  for (size_t k = 0; k < 2; ++k) {
    // libtorch writes beyond the gradient where no element of a window is inside of the image.
    w.padding[k] = w.dilation[k] > 1 ? 0 : rng.range(0, w.kernel[k] / 2);
    size[k] = adaptive ? rng.range(1, 7) : std::max<int64_t>(w.reach(k) - 2 * w.padding[k], 1) + rng.range(0, 5);
    made[k] = adaptive ? rng.range(1, 4) : pooledSize(w, k, size[k], ceil_mode);
  }
  presetIfAny(d, "kernel_size", listOf(rng, w.kernel));
  presetIfAny(d, "stride", own_stride ? listOf(rng, w.stride) : Value::ofInts({}));
  presetIfAny(d, "padding", listOf(rng, w.padding));
  presetIfAny(d, "dilation", listOf(rng, w.dilation));
  presetIfAny(d, "ceil_mode", Value::ofBool(ceil_mode));
  presetIfAny(d, "output_size", Value::ofInts(made));
  const Sizes planes = rng.chance(0.3) ? Sizes{rng.range(1, 3)} : Sizes{drawSamples(rng), rng.range(1, 3)};
  ImageShapes s;
  s.image = joined(planes, size);
  s.result = joined(planes, made);
  return s;
}

}  // namespace

const ImageShapes& Draft::images() {
  if (!images_) images_ = op.starts_with("conv") ? drawConvolution(*this) : drawPooling(*this);
  return *images_;
}

}  // namespace parity
