// The arguments that are no tensors: one table by operator and name, with a rule by type for all others.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace parity {
namespace {

using Draw = Value (*)(Draft&);

Value drawDim(Draft& d) {
  const int64_t n = std::max<int64_t>(d.dims(), 1);
  return Value::ofInt(d.rng.range(-n, n - 1));
}

Value drawNewDim(Draft& d) {
  const int64_t n = d.dims() + 1;
  return Value::ofInt(d.rng.range(-n, n - 1));
}

Value drawEndDim(Draft& d) {
  return Value::ofInt(d.rng.range(d.wrappedDim("start_dim"), std::max<int64_t>(d.dims(), 1) - 1));
}

Value drawOtherDim(Draft& d) {
  const int64_t n = std::max<int64_t>(d.dims(), 1), first = d.wrappedDim("dim1");
  return Value::ofInt(n == 1 ? 0 : (first + d.rng.range(1, n - 1)) % n);
}

// Dimensions to reduce: some, in any order and from either end; none stands for all.
Value drawDims(Draft& d) {
  const int64_t n = d.dims();
  std::vector<int64_t> dims;
  for (int64_t k = 0; k < n; ++k)
    if (d.rng.chance(0.45)) dims.push_back(d.rng.chance(0.3) ? k - n : k);
  d.rng.shuffle(dims);
  // libtorch's logsumexp fails with an empty list, and the gradients of var and std take it for no elements to count.
  if (dims.empty() && n > 0 && anyGlobMatches("logsumexp*, var*, std*", d.op)) dims.push_back(d.rng.range(0, n - 1));
  if (dims.empty() && d.rng.chance(0.4) && d.schema.findArgument("dim")->type.optional) return Value::none();
  return Value::ofInts(dims);
}

Value drawPermutation(Draft& d) {
  const int64_t n = d.dims();
  std::vector<int64_t> dims(static_cast<size_t>(n));
  std::iota(dims.begin(), dims.end(), 0);
  d.rng.shuffle(dims);
  for (int64_t& k : dims)
    if (d.rng.chance(0.2)) k -= n;
  return Value::ofInts(dims);
}

Value drawIndex(Draft& d) {
  const int64_t n = d.sizeOfDim();
  return Value::ofInt(d.rng.range(-n, n - 1));
}

Value drawSliceBound(Draft& d) {
  const int64_t n = d.sizeOfDim();
  return Value::ofInt(d.rng.chance(0.1) ? std::numeric_limits<int64_t>::max() : d.rng.range(-n - 2, n + 2));
}

Value drawNarrowStart(Draft& d) {
  const int64_t n = d.sizeOfDim();
  return Value::ofInt(d.rng.range(d.rng.chance(0.3) ? -n : 0, n));
}

Value drawNarrowLength(Draft& d) {
  const int64_t n = d.sizeOfDim(), start = d.arg("start").i;
  return Value::ofInt(d.rng.range(0, n - (start < 0 ? start + n : start)));
}

Value drawSizes(Draft& d) { return Value::ofInts(drawShape(d.rng)); }

// The subject's elements in another shape, one size possibly left to the operator.
Value drawReshape(Draft& d) {
  int64_t left = numelOf(d.subject());
  std::vector<int64_t> sizes;
  if (left == 0) {
    sizes = d.subject();
    d.rng.shuffle(sizes);
    return Value::ofInts(sizes);
  }
  if (d.rng.chance(0.3)) return Value::ofInts(d.subject());
  for (const int64_t factor : {2, 3, 2, 5})
    if (left % factor == 0 && d.rng.chance(0.6)) {
      sizes.push_back(factor);
      left /= factor;
    }
  if (left != 1 || d.rng.chance(0.3)) sizes.push_back(left);
  if (d.rng.chance(0.2)) sizes.push_back(1);
  d.rng.shuffle(sizes);
  if (!sizes.empty() && d.rng.chance(0.4)) sizes[0] = -1;
  return Value::ofInts(sizes);
}

Value drawExpand(Draft& d) {
  std::vector<int64_t> sizes = d.subject();
  for (int64_t& s : sizes) s = s == 1 ? d.rng.range(0, 4) : d.rng.chance(0.3) ? -1 : s;
  while (sizes.size() < 5 && d.rng.chance(0.3)) sizes.insert(sizes.begin(), d.rng.range(1, 3));
  return Value::ofInts(sizes);
}

Value drawRepeats(Draft& d) {
  std::vector<int64_t> repeats(d.subject().size() + (d.rng.chance(0.3) ? 1 : 0));
  for (int64_t& r : repeats) r = d.rng.range(0, 3);
  return Value::ofInts(repeats);
}

// One for each dimension that is rolled; without dimensions one for all elements.
Value drawShifts(Draft& d) {
  std::vector<int64_t> dims, shifts;
  const int64_t n = d.dims();
  for (int64_t k = 0; k < n; ++k)
    if (d.rng.chance(0.5)) dims.push_back(d.rng.chance(0.3) ? k - n : k);
  d.rng.shuffle(dims);
  for (size_t i = 0; i < std::max<size_t>(dims.size(), 1); ++i) shifts.push_back(d.rng.range(-7, 7));
  d.preset("dims", Value::ofInts(dims));
  return Value::ofInts(shifts);
}

// Some dimensions, from either end.
Value drawFlipped(Draft& d) {
  drawShifts(d);
  return d.arg("dims");
}

Value drawTopCount(Draft& d) { return Value::ofInt(d.rng.range(0, d.sizeOfDim())); }

Value drawScatterJoin(Draft& d) {
  if (d.op == "scatter") return Value::ofString(d.rng.chance(0.5) ? "add" : "multiply");
  return Value::ofString(d.rng.pick(std::vector<std::string>{"sum", "prod", "mean", "amax", "amin"}));
}

// Mostly a dimension of three elements.
Value drawVectorDim(Draft& d) {
  if (d.schema.findArgument("dim")->type.optional && d.rng.chance(0.3)) return Value::none();
  const std::vector<int64_t> sizes = d.subject();
  if (d.rng.chance(0.95))
    for (size_t k = 0; k < sizes.size(); ++k)
      if (sizes[k] == 3) return Value::ofInt(static_cast<int64_t>(k) - (d.rng.chance(0.4) ? d.dims() : 0));
  return drawDim(d);
}

Value drawEquation(Draft& d) {
  drawEinsum(d);
  return d.arg("equation");
}

// One of the arguments that images() draws together, by name.
template <const char* kName>
Value drawOfImages(Draft& d) {
  d.images();
  return d.arg(kName);
}
// Some more or fewer elements for each dimension of a signal or an image.
Value drawResampled(Draft& d) {
  const std::vector<int64_t> image = d.subject();
  std::vector<int64_t> sizes;
  for (size_t k = 2; k < image.size(); ++k) sizes.push_back(d.rng.range(1, 7));
  return Value::ofInts(sizes);
}
// And no sorter, which would have to be a permutation.
Value drawSide(Draft& d) {
  d.preset("sorter", Value::none());
  return d.rng.chance(0.5) ? Value::none() : Value::ofString(d.rng.chance(0.5) ? "left" : "right");
}

constexpr char kStride[] = "stride", kPadding[] = "padding", kDilation[] = "dilation", kTransposed[] = "transposed",
               kOutputPadding[] = "output_padding", kGroups[] = "groups", kKernelSize[] = "kernel_size",
               kCeilMode[] = "ceil_mode", kOutputSize[] = "output_size", kBiasSizes[] = "bias_sizes";

Value drawDivisor(Draft& d) { return d.rng.chance(0.6) ? Value::none() : Value::ofInt(d.rng.range(1, 4)); }

Value drawAnyMask(Draft& d) {
  std::vector<int64_t> mask(3);
  for (int64_t& m : mask) m = d.rng.chance(0.7) ? 1 : 0;
  return Value::ofBools(mask);
}

// A row without gradient, or none.
Value drawPadding(Draft& d) { return Value::ofInt(d.rng.range(-1, 2)); }

Value drawDiagonal(Draft& d) { return Value::ofInt(d.rng.range(-3, 3)); }

Value drawSumToSize(Draft& d) { return Value::ofInts(drawBroadcastable(d.rng, d.subject())); }

Value drawStridedSizes(Draft& d) {
  std::vector<int64_t> sizes;
  for (int64_t n = d.rng.range(0, 3); n > 0; --n) sizes.push_back(d.rng.range(1, 2));
  return Value::ofInts(sizes);
}

// libtorch does not look whether they stay inside the storage: the tensor's own, in another order.
Value drawAliasSizes(Draft& d) {
  const TensorSpec& self = d.tensor(d.arg("self"));
  std::vector<size_t> order(self.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  d.rng.shuffle(order);
  std::vector<int64_t> sizes, strides;
  for (const size_t k : order) {
    sizes.push_back(self.sizes[k]);
    strides.push_back(self.strides[k]);
  }
  d.preset("stride", Value::ofInts(strides));
  return Value::ofInts(sizes);
}

Value drawStridesFor(Draft& d) {
  std::vector<int64_t> strides(d.arg("size").ints.size());
  for (int64_t& s : strides) s = d.rng.range(0, 3);
  return Value::ofInts(strides);
}

Value drawSplitSizes(Draft& d) {
  std::vector<int64_t> sizes;
  for (int64_t left = d.sizeOfDim(); left > 0 || sizes.empty();) {
    sizes.push_back(d.rng.range(0, left));
    left -= sizes.back();
    if (sizes.size() == 4) sizes.back() += std::exchange(left, 0);
  }
  return Value::ofInts(sizes);
}

Value drawInputSizes(Draft& d) {
  std::vector<int64_t> sizes = drawShape(d.rng);
  for (const size_t least = d.op == "diagonal_backward" ? 2 : 1; sizes.size() < least;) sizes.push_back(3);
  for (int64_t& s : sizes) s = std::max<int64_t>(s, 1);
  return Value::ofInts(sizes);
}

// Of a layer_norm: the last dimensions.
Value drawNormalizedShape(Draft& d) {
  const std::vector<int64_t> sizes = d.subject();
  const int64_t last = std::min<int64_t>(d.dims(), d.rng.range(1, 2));
  return Value::ofInts({sizes.end() - last, sizes.end()});
}

// Only gradients of what is given.
Value drawOutputMask(Draft& d) {
  const auto wanted = [&](const char* of) { return d.arg(of).kind != Value::Kind::kNone && d.rng.chance(0.7) ? 1 : 0; };
  return Value::ofBools({d.rng.chance(0.7) ? 1 : 0, wanted("weight"), wanted("bias")});
}

// The bias is no argument.
Value drawBatchNormMask(Draft& d) {
  return Value::ofBools(
      {d.rng.chance(0.7), d.arg("weight").kind != Value::Kind::kNone && d.rng.chance(0.7), d.rng.chance(0.7)});
}

// libtorch divides by it in integers, too.
Value drawAtLeastOne(Draft& d) { return Value::ofDouble(d.rng.uniform(1, 2.5)); }
// libtorch reads statistics that are not there.
Value drawTraining(Draft& d) {
  const auto absent = [&](const char* name) { return d.arg(name).kind == Value::Kind::kNone; };
  return Value::ofBool(absent("running_mean") || absent("running_var") || d.rng.chance(0.5));
}
Value drawNone(Draft&) { return Value::none(); }
// libtorch's backward writes to whatever class the target names: to -100, far in front of the gradient, where another
// one is ignored.
Value drawIgnoreIndex(Draft& d) {
  const StorageSpec& target = d.c.storages[static_cast<size_t>(d.tensor(d.arg("target")).storage)];
  const auto named = target.bytes.empty() ? 0 : static_cast<int64_t>(loadElement(target.dtype, target.bytes.data()));
  if (d.op == "nll_loss_backward" && named == -100) return Value::ofInt(-100);
  if (d.plain || d.rng.chance(0.4)) return Value::ofInt(-100);
  return Value::ofInt(named >= 0 && named < 100 && d.rng.chance(0.6) ? named : d.rng.range(0, 3));
}
Value drawReduction(Draft& d) { return Value::ofInt(d.rng.range(0, 2)); }
Value drawCellDtype(Draft& d) { return Value::ofInt(d.dtype); }
Value drawFalse(Draft&) { return Value::ofBool(false); }
Value drawTrue(Draft&) { return Value::ofBool(true); }
Value drawProbability(Draft& d) {
  return Value::ofDouble(d.rng.chance(0.2) ? static_cast<double>(d.rng.range(0, 1)) : d.rng.uniform());
}
Value drawNegative(Draft& d) { return Value::ofDouble(d.rng.uniform(-2, 0)); }
Value drawPositive(Draft& d) { return Value::ofDouble(d.rng.uniform(0.1, 2)); }
Value drawSmallCount(Draft& d) { return Value::ofInt(d.rng.range(0, 7)); }
Value drawLow(Draft& d) { return Value::ofInt(d.rng.range(d.dtype == 0 || d.dtype == 11 ? 0 : -20, 0)); }
Value drawHigh(Draft& d) { return Value::ofInt(d.rng.range(1, d.dtype == 11 ? 1 : 100)); }
Value drawStep(Draft& d) { return Value::ofInt(d.rng.range(1, 3)); }
Value drawParts(Draft& d) { return Value::ofInt(d.rng.range(1, 5)); }
Value drawFillValue(Draft& d) { return Value::ofInt(d.rng.range(0, 100)); }
Value drawRoundingMode(Draft& d) {
  return d.rng.chance(0.15) ? Value::none() : Value::ofString(d.rng.chance(0.5) ? "trunc" : "floor");
}
Value drawApproximate(Draft& d) { return Value::ofString(d.rng.chance(0.5) ? "none" : "tanh"); }

Value drawMemoryFormat(Draft& d) {
  if (!d.schema.findArgument("memory_format")->type.optional)
    return Value::ofInt(d.plain ? 0 : d.rng.pick(std::vector<int64_t>{0, 0, 2, 1}));
  return d.plain || d.rng.chance(0.5) ? Value::none() : Value::ofInt(d.rng.range(0, 2));
}

Value drawRangeNumber(Draft& d) {
  const bool integral = !isFloating(d.dtype) || d.rng.chance(0.5);
  return integral ? Value::ofInt(d.rng.range(0, 20)) : Value::ofDouble(static_cast<double>(d.rng.range(0, 80)) / 4);
}
Value drawRangeEnd(Draft& d) {
  Value v = drawRangeNumber(d);
  if (!d.has("start")) return v;
  const Value& start = d.arg("start");
  const double from = start.kind == Value::Kind::kInt ? static_cast<double>(start.i) : start.d;
  if (v.kind == Value::Kind::kInt)
    v.i += static_cast<int64_t>(from) + 1;
  else
    v.d += from;
  return v;
}
Value drawRangeStep(Draft& d) {
  return isFloating(d.dtype) && d.rng.chance(0.5) ? Value::ofDouble(d.rng.uniform(0.5, 2))
                                                  : Value::ofInt(d.rng.range(1, 3));
}
Value drawRandomTo(Draft& d) {
  return d.rng.chance(0.15) ? Value::none() : Value::ofInt(d.dtype == 11 ? 1 : d.rng.range(2, 100));
}
Value drawRandomFrom(Draft&) { return Value::ofInt(0); }

// Integers and booleans take no other.
Value drawAlpha(Draft& d) { return d.plain || d.rng.chance(0.4) ? Value::ofInt(d.rng.range(-3, 4)) : drawScalar(d); }

// The order of a norm.
Value drawOrder(Draft& d) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (d.schema.findArgument("ord") == nullptr && d.schema.findArgument("p")->type.optional && d.rng.chance(0.1))
    return Value::none();
  if (d.rng.chance(0.5)) return Value::ofInt(d.rng.range(0, 3));
  return Value::ofDouble(d.rng.pick(std::vector<double>{0.5, 1.5, 2.0, 2.5, kInfinity, -kInfinity, -1.0}));
}
Value drawCorrection(Draft& d) { return d.rng.chance(0.2) ? Value::none() : Value::ofInt(d.rng.range(0, 2)); }

// One for all channels, or one for each.
Value drawGroups(Draft& d) { return Value::ofInt(d.rng.chance(0.5) || d.dims() < 2 ? 1 : d.subject()[1]); }
Value drawOneOrTwo(Draft& d) { return Value::ofInt(d.rng.range(1, 2)); }
Value drawOnesOrTwos(Draft& d) { return Value::ofInts({d.rng.range(1, 2)}); }
Value drawZeros(Draft&) { return Value::ofInts({0}); }
Value drawOne(Draft&) { return Value::ofInt(1); }
Value drawEps(Draft& d) { return d.rng.chance(0.5) ? Value::none() : Value::ofDouble(d.rng.uniform(0, 0.5)); }
Value drawReplacement(Draft& d) { return d.rng.chance(0.4) ? Value::none() : drawNegative(d); }
Value drawMoved(Draft& d, const char* name) {
  return d.schema.findArgument(name)->type.list ? drawPermutation(d) : drawDim(d);
}
Value drawMovedFrom(Draft& d) { return drawMoved(d, "source"); }
Value drawMovedTo(Draft& d) { return drawMoved(d, "destination"); }

struct Domain {
  std::string_view op, argument;
  Draw draw;
};

// The first that fits both.
constexpr Domain kDomains[] = {
    {"group_norm", "num_groups", drawGroups},
    {"logit", "eps", drawEps},
    {"nan_to_num", "nan", drawReplacement},
    {"nan_to_num", "posinf", drawReplacement},
    {"nan_to_num", "neginf", drawReplacement},
    {"max_pool1d", "kernel_size", drawOnesOrTwos},
    {"max_pool1d", "stride", drawOnesOrTwos},
    {"max_pool1d", "padding", drawZeros},
    {"max_pool1d", "dilation", drawOnesOrTwos},
    {"pixel_*", "upscale_factor", drawOneOrTwo},
    {"pixel_*", "downscale_factor", drawOneOrTwo},
    {"one_hot", "num_classes", drawOneOrTwo},
    {"multinomial", "num_samples", drawOne},
    {"movedim", "source", drawMovedFrom},
    {"movedim", "destination", drawMovedTo},
    {"broadcast_to", "size", drawExpand},
    {"repeat_interleave", "output_size", drawNone},
    {"tile", "dims", drawRepeats},
    {"*", "axis0", drawDim},
    {"*", "axis1", drawDim},
    {"bincount", "minlength", drawOneOrTwo},
    {"searchsorted", "side", drawSide},
    {"searchsorted", "right", drawFalse},
    {"*median", "dim", drawDim},
    {"unique_*", "dim", drawDim},
    {"upsample_*", "output_size", drawResampled},
    {"upsample_*", "scales", drawNone},
    {"upsample_*", "scales_h", drawNone},
    {"upsample_*", "scales_w", drawNone},
    {"conv*", "stride", drawOfImages<kStride>},
    {"conv*", "padding", drawOfImages<kPadding>},
    {"conv*", "dilation", drawOfImages<kDilation>},
    {"conv*", "transposed", drawOfImages<kTransposed>},
    {"conv*", "output_padding", drawOfImages<kOutputPadding>},
    {"conv*", "groups", drawOfImages<kGroups>},
    {"conv*", "bias_sizes", drawOfImages<kBiasSizes>},
    {"convolution_backward", "output_mask", drawAnyMask},
    {"*pool2d*", "kernel_size", drawOfImages<kKernelSize>},
    {"*pool2d*", "stride", drawOfImages<kStride>},
    {"*pool2d*", "padding", drawOfImages<kPadding>},
    {"*pool2d*", "dilation", drawOfImages<kDilation>},
    {"*pool2d*", "ceil_mode", drawOfImages<kCeilMode>},
    {"*pool2d*", "output_size", drawOfImages<kOutputSize>},
    {"*pool2d*", "divisor_override", drawDivisor},
    {"native_batch_norm_backward", "output_mask", drawBatchNormMask},
    {"native_batch_norm", "training", drawTraining},
    {"smooth_l1*", "beta", drawAtLeastOne},
    {"huber*", "delta", drawPositive},
    {"topk", "k", drawTopCount},
    {"topk", "sorted", drawTrue},
    {"*cross", "dim", drawVectorDim},
    {"scatter*", "reduce", drawScatterJoin},
    {"einsum", "equation", drawEquation},
    {"einsum", "path", drawNone},
    {"unsqueeze", "dim", drawNewDim},
    {"max*", "dim", drawDim},
    {"squeeze", "dim", drawDim},
    {"*", "dim0", drawDim},
    {"flatten", "start_dim", drawDim},
    {"flatten", "end_dim", drawEndDim},
    {"diagonal*", "dim1", drawDim},
    {"diagonal*", "dim2", drawOtherDim},
    {"*", "dim1", drawDim},
    {"permute", "dims", drawPermutation},
    {"select*", "index", drawIndex},
    {"narrow", "start", drawNarrowStart},
    {"narrow", "length", drawNarrowLength},
    {"slice*", "start", drawSliceBound},
    {"slice*", "end", drawSliceBound},
    {"slice*", "step", drawStep},
    {"*_backward", "input_sizes", drawInputSizes},
    {"view", "size", drawReshape},
    {"_reshape_alias", "size", drawAliasSizes},
    {"_unsafe_view", "size", drawReshape},
    {"reshape", "shape", drawReshape},
    {"expand", "size", drawExpand},
    {"sum_to_size", "size", drawSumToSize},
    {"repeat", "repeats", drawRepeats},
    {"roll", "shifts", drawShifts},
    {"tri*", "diagonal", drawDiagonal},
    {"diag", "diagonal", drawDiagonal},
    {"flip", "dims", drawFlipped},
    {"embedding", "padding_idx", drawPadding},
    {"embedding", "sparse", drawFalse},
    {"gather", "sparse_grad", drawFalse},
    {"*sort", "stable", drawTrue},
    {"*close", "rtol", drawPositive},
    {"*close", "atol", drawPositive},
    {"as_strided*", "size", drawStridedSizes},
    {"*", "stride", drawStridesFor},
    {"*", "split_sizes", drawSplitSizes},
    {"*", "split_size", drawParts},
    {"*", "chunks", drawParts},
    {"*", "size", drawSizes},
    {"*", "normalized_shape", drawNormalizedShape},
    {"*", "output_mask", drawOutputMask},
    {"*", "eps", drawPositive},
    {"*", "ignore_index", drawIgnoreIndex},
    {"*", "reduction", drawReduction},
    {"*", "input_dtype", drawCellDtype},
    {"*", "half_to_float", drawFalse},
    {"*", "label_smoothing", drawProbability},
    {"norm*", "p", drawOrder},
    {"*", "ord", drawOrder},
    {"*", "correction", drawCorrection},
    {"*", "p", drawProbability},
    {"uniform", "from", drawNegative},
    {"uniform", "to", drawPositive},
    {"*", "std", drawPositive},
    {"random", "from", drawRandomFrom},
    {"random", "to", drawRandomTo},
    {"*", "n", drawSmallCount},
    {"*", "m", drawSmallCount},
    {"*", "steps", drawSmallCount},
    {"*", "low", drawLow},
    {"*", "high", drawHigh},
    {"full*", "fill_value", drawFillValue},
    {"new_full", "fill_value", drawFillValue},
    {"fill", "value", drawFillValue},
    {"*", "rounding_mode", drawRoundingMode},
    {"*", "approximate", drawApproximate},
    {"*", "memory_format", drawMemoryFormat},
    {"arange", "end", drawRangeEnd},
    {"*", "start", drawRangeNumber},
    {"*", "end", drawRangeNumber},
    {"arange", "step", drawRangeStep},
    {"scalar_tensor", "s", drawFillValue},
    {"*", "alpha", drawAlpha},
};

Value drawDtypeArgument(Draft& d, bool optional) {
  const bool factory = d.schema.findArgument("layout") != nullptr;
  if (factory && (d.plain || d.rng.chance(0.8))) return Value::ofInt(d.dtype);
  if (optional && d.rng.chance(0.6)) return Value::none();
  // Where values need not fit every dtype, only casts that C++ defines.
  const bool any = (d.rule.flags & (kCasts | kMetadataOnly)) != 0;
  return Value::ofInt(d.rng.pick(any ? allDtypes() : std::vector<int>{5, 15, 6, 7, 4}));
}

Value drawByType(Draft& d, const shunt::Argument& a) {
  using shunt::TypeKind;
  switch (a.type.kind) {
    case TypeKind::Scalar:
      return a.type.optional && d.rng.chance(0.3) ? Value::none() : drawScalar(d);
    case TypeKind::Int:
      return a.type.optional && d.rng.chance(0.3) ? Value::none() : Value::ofInt(d.rng.range(0, 3));
    case TypeKind::Float:
      return Value::ofDouble(d.rng.uniform(-2, 2));
    case TypeKind::Bool:
      return a.type.optional ? Value::none() : Value::ofBool(d.rng.chance(0.5));
    case TypeKind::ScalarType:
      return drawDtypeArgument(d, a.type.optional);
    case TypeKind::Layout:
      return d.rng.chance(0.8) ? Value::none() : Value::ofInt(0);
    case TypeKind::Device:
      return a.type.optional && d.rng.chance(0.7) ? Value::none() : Value::cpu();
    case TypeKind::Generator:
      return Value::none();
    default:
      throw std::logic_error("no way to draw argument " + a.name + " of " + d.schema.str());
  }
}

}  // namespace

Value drawScalar(Draft& d) {
  const double kind = d.rng.uniform();
  if (kind < 0.12) return Value::ofBool(d.rng.chance(0.5));
  const bool integral = kind < 0.55 || d.c.integral_data;
  if (integral)
    return Value::ofInt(d.data == Data::kSpecial && d.rng.chance(0.2)
                            ? d.rng.pick(std::vector<int64_t>{127, 255, 300, -129, 65536, int64_t{1} << 40})
                            : d.rng.range(-3, 5));
  if (d.data == Data::kSpecial && d.rng.chance(0.3))
    return Value::ofDouble(d.rng.pick(std::vector<double>{-0.0, 1e300, 1e-300, std::numeric_limits<double>::infinity(),
                                                          std::numeric_limits<double>::quiet_NaN()}));
  return Value::ofDouble(d.rng.chance(0.4) ? static_cast<double>(d.rng.range(-8, 8)) / 2 : d.rng.uniform(-3, 3));
}

Value drawArgument(Draft& d, const shunt::Argument& a) {
  for (const Domain& domain : kDomains) {
    if (a.name != domain.argument || !globMatches(domain.op, d.op)) continue;
    if (a.type.list && a.name == "dim") break;
    return domain.draw(d);
  }
  if (a.name == "dim") {
    if (a.type.list) return drawDims(d);
    return a.type.optional && d.rng.chance(0.3) ? Value::none() : drawDim(d);
  }
  return drawByType(d, a);
}

}  // namespace parity
