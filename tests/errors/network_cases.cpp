// Convolutions, pools, batch_norm, activations and losses of networks; sums by einsum, scattered elements, topk.
#include "tests/errors/bed.h"

namespace shunt::testing {

static std::vector<BadInput> convolutionCases() {
  const Tensor image = counted({1, 2, 4, 4}), weight = counted({3, 2, 2, 2}), line = counted({1, 2, 4});
  constexpr int64_t kLarge = int64_t{1} << 62;
  return {
      {"conv2d: channels",
       {"expected input", "[1, 2, 4, 4]", "to have 3 channels", "got 2"},
       [=](Bed&) { shunt::conv2d(image, counted({3, 3, 2, 2})); }},
      {"conv2d: dimensions",
       {"conv2d", "3D (unbatched) or 4D (batched)", "[2, 3]"},
       [=](Bed& bed) { shunt::conv2d(bed.a, weight); }},
      {"conv2d: bias", {"bias", "3 elements", "[4]"}, [=](Bed& bed) { shunt::conv2d(image, weight, bed.vec4); }},
      {"conv2d: weight of another type",
       {"Input type (Float)", "weight type (Double)"},
       [=](Bed&) { shunt::conv2d(image, weight.to(kDouble)); }},
      {"conv2d: bias of another type",
       {"Input type (Float)", "bias type (Double)"},
       [=](Bed&) { shunt::conv2d(image, weight, counted({3}, kDouble)); }},
      {"conv2d: of bools", {"Bool"}, [=](Bed&) { shunt::conv2d(image.to(kBool), weight.to(kBool)); }},
      {"conv2d: undefined weight", {"weight", "undefined"}, [=](Bed& bed) { shunt::conv2d(image, bed.undefined); }},
      {"conv2d: kernel",
       {"padded input size", "(4 x 4)", "Kernel size: (5 x 5)"},
       [=](Bed&) { shunt::conv2d(image, counted({1, 2, 5, 5})); }},
      {"conv2d: stride", {"non-positive stride"}, [=](Bed&) { shunt::conv2d(image, weight, {}, 0); }},
      {"conv2d: list of strides",
       {"expected stride", "list of 2 values", "stride=[1, 1, 1]"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, {1, 1, 1}); }},
      {"conv2d: padding", {"negative padding"}, [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{-1}); }},
      {"conv2d: padding beyond every size",
       {"convolution", "padding=[4611686018427387904"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{kLarge}); }},
      {"conv2d: dilation",
       {"dilation", "greater than zero", "[0]"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{0}, 0); }},
      {"conv2d: dilation beyond every size",
       {"convolution", "dilation=[4611686018427387904"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{0}, kLarge); }},
      {"conv2d: groups",
       {"groups=2", "weight", "[3, 2, 2, 2]"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{0}, 1, 2); }},
      {"conv2d: no groups",
       {"non-positive groups"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, IntArrayRef{0}, 1, 0); }},
      {"conv2d: word for a padding",
       {"Invalid padding string", "wide"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 1, "wide"); }},
      {"conv2d: the same size, strided",
       {"padding='same'", "strided"},
       [=](Bed&) { shunt::conv2d(image, weight, {}, 2, "same"); }},
      {"conv1d: of an image", {"conv1d", "[1, 2, 4, 4]"}, [=](Bed&) { shunt::conv1d(image, weight); }},
      {"conv1d: weight of two dimensions", {"weight"}, [=](Bed& bed) { shunt::conv1d(line, bed.a); }},
      {"convolution: three dimensions",
       {"convolution", "3 or 4 dimensions", "[1, 1, 1, 1, 1]"},
       [](Bed&) { shunt::convolution(counted({1, 1, 1, 1, 1}), counted({1, 1, 1, 1, 1}), {}, 1, 0, 1, false, 0, 1); }},
      {"convolution: output padding",
       {"output padding must be smaller", "3"},
       [=](Bed&) { shunt::convolution(image, counted({2, 1, 2, 2}), {}, 1, 0, 1, true, 3, 1); }},
      {"convolution: no pixels",
       {"Only zero batch or zero channel", "[1, 2, 0, 4]"},
       [=](Bed&) { shunt::conv2d(counted({1, 2, 0, 4}), weight, {}, 1, IntArrayRef{1}); }},
  };
}

static std::vector<BadInput> poolCases() {
  const Tensor image = counted({1, 2, 4, 4});
  return {
      {"max_pool2d: dimensions", {"Expected 3D or 4D", "[2, 3]"}, [](Bed& bed) { shunt::max_pool2d(bed.a, 2); }},
      {"max_pool2d: kernel", {"kernel size", "greater than zero", "0"}, [=](Bed&) { shunt::max_pool2d(image, 0); }},
      {"max_pool2d: list",
       {"max_pool2d", "kernel_size", "tuple of two ints"},
       [=](Bed&) { shunt::max_pool2d(image, {2, 2, 2}); }},
      {"max_pool2d: padding",
       {"pad should be at most half", "pad=2", "kernel_size=2"},
       [=](Bed&) { shunt::max_pool2d(image, 2, 1, 2); }},
      {"max_pool2d: result", {"Output size is too small", "2x4x4"}, [=](Bed&) { shunt::max_pool2d(image, 5); }},
      {"max_pool2d: beyond 32 bits",
       {"max_pool2d", "kernel_size", "1099511627776"},
       [=](Bed&) { shunt::max_pool2d(image, int64_t{1} << 40); }},
      {"max_pool2d: of longs", {"max_pool2d", "Long"}, [=](Bed&) { shunt::max_pool2d(image.to(kLong), 2); }},
      {"max_pool2d: undefined", {"max_pool2d", "undefined"}, [](Bed& bed) { shunt::max_pool2d(bed.undefined, 2); }},
      {"avg_pool2d: divisor",
       {"divisor must be not zero"},
       [=](Bed&) { shunt::avg_pool2d(image, 2, 2, 0, false, true, 0); }},
      {"avg_pool2d: of bools", {"avg_pool2d", "Bool"}, [=](Bed&) { shunt::avg_pool2d(image.to(kBool), 2); }},
      {"adaptive_avg_pool2d: sizes",
       {"adaptive_avg_pool2d", "output_size must be 2"},
       [=](Bed&) { shunt::adaptive_avg_pool2d(image, {1, 1, 1}); }},
      {"adaptive_avg_pool2d: negative",
       {"adaptive_avg_pool2d", "output_size", "greater than or equal to 0", "-1"},
       [=](Bed&) { shunt::adaptive_avg_pool2d(image, {-1, 2}); }},
      {"adaptive_avg_pool2d: nothing",
       {"adaptive_avg_pool2d", "non-zero size", "[1, 2, 0, 4]"},
       [](Bed&) { shunt::adaptive_avg_pool2d(counted({1, 2, 0, 4}), {2, 2}); }},
      {"adaptive_avg_pool2d: more than memory holds",
       {"adaptive_avg_pool2d", "can't allocate"},
       [=](Bed&) { shunt::adaptive_avg_pool2d(image, {int64_t{1} << 50, 2}); }},
  };
}

static std::vector<BadInput> normalizationCases() {
  const auto normalized = [](const Tensor& x, const Tensor& weight, const Tensor& mean, bool training) {
    shunt::batch_norm(x, weight, {}, mean, mean, training, 0.1, 1e-5, false);
  };
  const Tensor three = counted({3});
  return {
      {"batch_norm: weight",
       {"weight", "3 elements", "4"},
       [=](Bed& bed) { normalized(bed.a, bed.vec4, three, true); }},
      {"batch_norm: running statistics",
       {"running_mean", "3 elements", "4"},
       [=](Bed& bed) { normalized(bed.a, three, bed.vec4.clone(), true); }},
      {"batch_norm: none to evaluate by",
       {"running_mean", "must be defined in evaluation mode"},
       [=](Bed& bed) { normalized(bed.a, three, bed.undefined, false); }},
      {"batch_norm: undefined", {"undefined"}, [=](Bed& bed) { normalized(bed.undefined, three, {}, true); }},
      {"batch_norm: of longs", {"Long"}, [=](Bed& bed) { normalized(bed.longs, {}, {}, true); }},
  };
}

static std::vector<BadInput> elementCases() {
  return {
      {"elu: of longs", {"elu", "Long"}, [](Bed& bed) { shunt::elu(bed.longs); }},
      {"elu: undefined", {"elu", "undefined"}, [](Bed& bed) { shunt::elu(bed.undefined); }},
      {"smooth_l1_loss: shapes", {"3", "4"}, [](Bed& bed) { shunt::smooth_l1_loss(bed.a, bed.b); }},
      {"smooth_l1_loss: beta",
       {"smooth_l1_loss", "negative values for beta"},
       [](Bed& bed) { shunt::smooth_l1_loss(bed.a, bed.a, 1, -1); }},
      {"smooth_l1_loss: reduction",
       {"7 is not a valid value for reduction"},
       [](Bed& bed) { shunt::smooth_l1_loss(bed.a, bed.a, 7); }},
      {"huber_loss: delta", {"huber_loss", "delta"}, [](Bed& bed) { shunt::huber_loss(bed.a, bed.a, 1, 0); }},
      {"huber_loss: undefined target",
       {"huber_loss", "target", "undefined"},
       [](Bed& bed) { shunt::huber_loss(bed.a, bed.undefined); }},
      {"binary_cross_entropy_with_logits: undefined target",
       {"binary_cross_entropy_with_logits", "target", "undefined"},
       [](Bed& bed) { shunt::binary_cross_entropy_with_logits(bed.a, bed.undefined); }},
      {"binary_cross_entropy_with_logits: out= of longs",
       {"binary_cross_entropy_with_logits", "Float", "Long"},
       [](Bed& bed) {
         Tensor out = bed.longs;
         shunt::binary_cross_entropy_with_logits_out(out, bed.a, bed.a, {}, {}, 0);
       }},
      {"tril: out= of another type",
       {"tril", "Float", "Double"},
       [](Bed& bed) {
         Tensor out = bed.doubles;
         shunt::tril_out(out, bed.a);
       }},
      {"cross: dimensions",
       {"cross", "dimension 1 must have length 3", "3 and 4"},
       [](Bed& bed) { shunt::cross(bed.a, bed.b); }},
      {"linalg_cross: length",
       {"linalg_cross", "dimension 0", "length 3"},
       [](Bed& bed) { shunt::linalg_cross(bed.a, bed.a, 0); }},
      {"linalg_cross: out of range",
       {"Dimension out of range", "5"},
       [](Bed& bed) { shunt::linalg_cross(bed.a, bed.a, 5); }},
      {"einsum: operands", {"einsum", "operands"}, [](Bed& bed) { shunt::einsum("ij,jk->ik", {bed.a}); }},
      {"einsum: sizes", {"einsum", "3", "2"}, [](Bed& bed) { shunt::einsum("ij,jk->ik", {bed.a, bed.b}); }},
      {"einsum: a letter of the result", {"einsum", "z"}, [](Bed& bed) { shunt::einsum("ij->iz", {bed.a}); }},
      {"einsum: subscripts", {"einsum", "subscript"}, [](Bed& bed) { shunt::einsum("ijk->i", {bed.a}); }},
      {"einsum: a digit", {"einsum", "[a-zA-Z]"}, [](Bed& bed) { shunt::einsum("1j->j", {bed.a}); }},
  };
}

static std::vector<BadInput> placeCases() {
  const Tensor places = shunt::zeros({2, 3}, TensorOptions(kLong));
  return {
      {"topk: k", {"selected index k out of range", "4"}, [](Bed& bed) { shunt::topk(bed.a, 4); }},
      {"topk: negative k", {"selected index k out of range", "-1"}, [](Bed& bed) { shunt::topk(bed.a, -1); }},
      {"topk: dimension", {"Dimension out of range", "2"}, [](Bed& bed) { shunt::topk(bed.a, 1, 2); }},
      {"topk: of bools", {"topk", "Bool"}, [](Bed& bed) { shunt::topk(bed.bools, 1); }},
      {"scatter: word",
       {"reduce argument must be either add or multiply", "mean"},
       [=](Bed& bed) { bed.a.scatter(0, places, bed.a.clone(), "mean"); }},
      {"scatter: dtype of the index",
       {"scatter", "index", "int64"},
       [=](Bed& bed) { bed.a.scatter(0, places.to(kDouble), bed.a.clone()); }},
      {"scatter_reduce: word",
       {"reduce argument must be either sum, prod, mean, amax or amin", "median"},
       [=](Bed& bed) { bed.a.scatter_reduce(0, places, bed.a.clone(), "median"); }},
      {"scatter_reduce: dtypes",
       {"scatter_reduce", "self.dtype", "src.dtype", "Float", "Double"},
       [=](Bed& bed) { bed.a.scatter_reduce(0, places, bed.doubles, "sum"); }},
      {"scatter_reduce: range",
       {"scatter_reduce", "index 9", "dimension 0", "size 2"},
       [=](Bed& bed) { bed.a.scatter_reduce(0, places.add(9), bed.a.clone(), "sum"); }},
      {"scatter_reduce: undefined index",
       {"scatter_reduce", "index", "undefined"},
       [](Bed& bed) { bed.a.scatter_reduce(0, bed.undefined, bed.a.clone(), "sum"); }},
      {"index_put_: out of range",
       {"index 5", "dimension 0", "size 2"},
       [](Bed& bed) { bed.a.index_put_({shunt::tensor({0, 5})}, 1); }},
      {"index_put_: undefined values",
       {"index_put_", "values", "undefined"},
       [](Bed& bed) { shunt::index_put_(bed.a, {shunt::tensor({0})}, bed.undefined); }},
      {"index_put_: mask",
       {"shape of the mask [2, 4]", "[2, 3]"},
       [](Bed& bed) { bed.a.index_put_({bed.b.gt(0)}, 1); }},
      {"index: another device",
       {"index", "cpu", "meta"},
       [](Bed& bed) { bed.a.index({shunt::zeros({2}, TensorOptions(kLong).device(kMeta))}); }},
  };
}

std::vector<BadInput> networkCases() {
  std::vector<BadInput> cases = convolutionCases();
  for (auto* more : {&poolCases, &normalizationCases, &elementCases, &placeCases})
    for (BadInput& c : more()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace shunt::testing
