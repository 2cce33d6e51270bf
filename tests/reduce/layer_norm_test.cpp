// layer_norm, forward and backward, against double arithmetic.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"
#include "tests/support/same_bits.h"

#include <shunt/core/parallel.h>
#include <shunt/transforms/autocast.h>

#include <cmath>

namespace shunt::testing {
namespace {

using test::sameBits;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  std::vector<int64_t> sizes;
  size_t row_dims;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {{{10}, 1},      {{1}, 1},        {{3, 1}, 1},       {{32, 10}, 1},
                                         {{32, 10}, 2},  {{3, 4, 5}, 2},  {{2, 3, 1500}, 1}, {{2, 9000}, 1},
                                         {{700, 80}, 1}, {{4000, 17}, 1}, {{0, 3}, 1}};
  return list;
}

struct Norm {
  std::vector<double> y, mean, rstd;
};

/// (x - mean) / sqrt(var + eps) * weight + bias in double, of rows of n elements.
Norm expected(const std::vector<double>& x, size_t n, const std::vector<double>& w, const std::vector<double>& b,
              double eps) {
  Norm out;
  for (size_t r = 0; r < x.size(); r += n) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; ++i) mean += x[r + i] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) var += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(n);
    out.mean.push_back(mean);
    out.rstd.push_back(1 / std::sqrt(var + eps));
    for (size_t i = 0; i < n; ++i) out.y.push_back((x[r + i] - mean) * out.rstd.back() * w[i] + b[i]);
  }
  return out;
}

std::vector<int64_t> rowSizes(const Case& c) {
  return {c.sizes.end() - static_cast<std::ptrdiff_t>(c.row_dims), c.sizes.end()};
}
double toleranceOf(ScalarType type) { return 2 * epsilonOf(type) + 64 * epsilonOf(type == kDouble ? kDouble : kFloat); }

TEST(LayerNorm, EqualsTheDefinition) {
  for (const ScalarType type : {kHalf, kBFloat16, kFloat, kDouble})
    for (const Case& c : cases())
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        const std::vector<int64_t> shape = rowSizes(c);
        const Tensor w = randomTensor(shape, type, 2), b = randomTensor(shape, type, 3);
        const auto [y, mean, rstd] = native_layer_norm(t, shape, w, b, 0.01);
        const Norm e = expected(valuesOf(t), static_cast<size_t>(w.numel()), valuesOf(w), valuesOf(b), 0.01);
        EXPECT_TRUE(near(valuesOf(y), e.y, toleranceOf(type), 1)) << type << t.sizes();
        EXPECT_TRUE(near(valuesOf(mean), e.mean, toleranceOf(type), 1)) << type << t.sizes();
        EXPECT_TRUE(near(valuesOf(rstd), e.rstd, toleranceOf(type), 1)) << type << t.sizes();
        EXPECT_EQ(mean.dim(), t.dim());
        EXPECT_EQ(mean.numel(), w.numel() == 0 ? 0 : t.numel() / w.numel());
      }
}

TEST(LayerNorm, WithoutParametersAndWithFloatOnesBeside16Bits) {
  const Tensor x = randomTensor({6, 40}, kBFloat16), w = randomTensor({40}, kFloat, 2),
               b = randomTensor({40}, kFloat, 3);
  const std::vector<double> ones(40, 1), zeros(40, 0);
  EXPECT_TRUE(
      near(valuesOf(layer_norm(x, 40)), expected(valuesOf(x), 40, ones, zeros, 1e-5).y, toleranceOf(kBFloat16), 1));
  EXPECT_TRUE(near(valuesOf(layer_norm(x, 40, {}, b.to(kBFloat16))),
                   expected(valuesOf(x), 40, ones, valuesOf(b.to(kBFloat16)), 1e-5).y, toleranceOf(kBFloat16), 1));
  const auto [y, mean, rstd] = native_layer_norm(x, 40, w, b, 1e-5);
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  EXPECT_EQ(mean.scalar_type(), kFloat);
  EXPECT_TRUE(
      near(valuesOf(y), expected(valuesOf(x), 40, valuesOf(w), valuesOf(b), 1e-5).y, toleranceOf(kBFloat16), 1));
}

TEST(LayerNorm, DoesNotDependOnThreads) {
  const Tensor x = randomTensor({5000, 70}, kFloat), g = randomTensor({5000, 70}, kFloat, 2),
               w = randomTensor({70}, kFloat, 3);
  const int before = get_num_threads();
  set_num_threads(1);
  const auto [y1, m1, r1] = native_layer_norm(x, 70, w, w, 1e-5);
  const auto [dx1, dw1, db1] = native_layer_norm_backward(g, x, 70, m1, r1, w, w, {true, true, true});
  set_num_threads(4);
  const auto [y4, m4, r4] = native_layer_norm(x, 70, w, w, 1e-5);
  const auto [dx4, dw4, db4] = native_layer_norm_backward(g, x, 70, m1, r1, w, w, {true, true, true});
  set_num_threads(before);
  EXPECT_TRUE(sameBits(y1, y4) && sameBits(r1, r4) && sameBits(dx1, dx4) && sameBits(dw1, dw4) && sameBits(db1, db4));
}

TEST(LayerNorm, TheMaskSaysWhichGradients) {
  const Tensor x = randomTensor({6, 40}, kFloat), w = randomTensor({40}, kFloat, 3);
  const auto [y, mean, rstd] = native_layer_norm(x, 40, w, w, 1e-5);
  const auto [dx, dw, db] = native_layer_norm_backward(x, x, 40, mean, rstd, w, w, {false, true, false});
  EXPECT_FALSE(dx.defined());
  EXPECT_TRUE(dw.defined());
  EXPECT_FALSE(db.defined());
}

TEST(LayerNorm, KeepsTheTypeUnderAutocast) {
  AutocastGuard autocast(kCPU);
  const Tensor half = randomTensor({2, 4}, kBFloat16), weight = randomTensor({4}, kFloat);
  EXPECT_EQ(layer_norm(half, 4, weight, weight).scalar_type(), kBFloat16);
  EXPECT_EQ(layer_norm(half.to(kFloat), 4, weight, weight).scalar_type(), kFloat);
}

TEST(LayerNorm, OnMeta) {
  const Tensor x = shunt::empty({2, 3, 4}, TensorOptions().device(kMeta));
  const auto [y, mean, rstd] = native_layer_norm(x, {3, 4}, {}, {}, 1e-5);
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_EQ(mean.sizes(), IntArrayRef({2, 1, 1}));
  EXPECT_TRUE(rstd.device().is_meta());
}

TEST(LayerNorm, Errors) {
  const Tensor x = randomTensor({2, 4}, kFloat), w = randomTensor({4}, kDouble);
  EXPECT_THAT(errorOf([&] { layer_norm(x, IntArrayRef()); }),
              StartsWith("Expected normalized_shape to be at least 1-dimensional"));
  EXPECT_THAT(errorOf([&] { layer_norm(x, 3); }),
              HasSubstr("expected input with shape [*, 3], but got input of size[2, 4]"));
  EXPECT_THAT(errorOf([&] { layer_norm(x, 4, x); }),
              StartsWith("Expected weight to be of same shape as normalized_shape"));
  EXPECT_THAT(errorOf([&] { layer_norm(x, 4, w); }),
              StartsWith("native_layer_norm(): expected weight to be Float, the dtype of input; got Double"));
  EXPECT_THAT(errorOf([&] { layer_norm(x.to(kLong), 4); }),
              StartsWith("\"LayerNormKernelImpl\" not implemented for 'Long'"));
  EXPECT_THAT(errorOf([&] { native_layer_norm_backward(x, x, 4, x, x, {}, {}, {true, false, false}); }),
              StartsWith("native_layer_norm_backward(): expected mean to have 2 elements"));
}

}  // namespace
}  // namespace shunt::testing
