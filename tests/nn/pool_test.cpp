// max_pool2d, avg_pool2d and adaptive_avg_pool2d: values worked out by hand, NaN, padding, the last window.
#include "tests/shape/util.h"

#include <limits>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

TEST(MaxPool, ValuesAndPlaces) {
  const Tensor x = tensor({1, 3, 2, 0, 9, 4, 4, 5, 6}).to(kFloat).reshape({1, 3, 3});
  const auto [y, at] = max_pool2d_with_indices(x, 2, 1);
  EXPECT_EQ(valuesOf(y), (Values{9, 9, 9, 9}));
  EXPECT_EQ(valuesOf(at), (Values{4, 4, 4, 4}));
  EXPECT_EQ(valuesOf(max_pool2d(x, 2)), (Values{9}));
  EXPECT_EQ(valuesOf(max_pool2d(x, 2, {}, 0, 1, true)), (Values{9, 4, 5, 6})) << "windows that reach beyond the end";
  EXPECT_EQ(valuesOf(max_pool2d(x, 2, 2, 1)), (Values{1, 3, 4, 9})) << "padding never wins";
  EXPECT_EQ(valuesOf(max_pool2d(x, 2, 1, 0, 2)), (Values{6})) << "corners";
  EXPECT_EQ(valuesOf(max_pool2d(x.neg(), {3, 1}, 1)), (Values{0, -3, -2}));
}

TEST(MaxPool, NaNWins) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor({1.0, kNan, 7.0, kNan}).reshape({1, 2, 2});
  const auto [y, at] = max_pool2d_with_indices(x, 2);
  EXPECT_TRUE(std::isnan(valuesOf(y)[0]));
  EXPECT_EQ(valuesOf(at), (Values{3})) << "the last one, as in PyTorch";
}

TEST(MaxPool, Gradients) {
  Tensor x = tensor({1, 3, 2, 0, 9, 4, 4, 5, 6}).to(kFloat).reshape({1, 1, 3, 3}).requires_grad_();
  max_pool2d(x, 2, 1).mul(iota({2, 2}).add(1)).sum().backward();
  EXPECT_EQ(valuesOf(x.grad()), (Values{0, 0, 0, 0, 10, 0, 0, 0, 0}));
  const Tensor bad = full({1, 1, 2, 2}, 9, TensorOptions(kLong));
  EXPECT_THAT(errorOf([&] { max_pool2d_with_indices_backward(ones({1, 1, 2, 2}), x, 2, 1, 0, 1, false, bad); }),
              HasSubstr("index 9 is out of bounds"));
}

// A dilated window may step over all elements: it has no largest one, and nothing depends on it.
TEST(MaxPool, WindowsOfPaddingOnly) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  struct Case {
    Sizes sizes, kernel, stride, padding, dilation;
    bool ceil_mode;
    Values values, places, gradient, second;
  };
  const std::vector<Case> cases = {
      {{1, 1, 2, 1}, {2, 2}, {1, 1}, {1, 1}, {2, 2}, false, {kNone, kNone}, {-1, -1}, {0, 0}, {0, 0}},
      {{1, 1, 1, 4},
       {2, 2},
       {1, 1},
       {1, 1},
       {2, 2},
       false,
       {kNone, kNone, kNone, kNone},
       {-1, -1, -1, -1},
       {0, 0, 0, 0},
       {0, 0, 0, 0}},
      {{1, 3, 1},
       {2, 2},
       {1, 1},
       {1, 1},
       {1, 2},
       false,
       {kNone, kNone, kNone, kNone},
       {-1, -1, -1, -1},
       {0, 0, 0},
       {0, 0, 0, 0}},
      {{1, 1, 1, 3}, {1, 2}, {1, 3}, {0, 1}, {1, 3}, true, {6, 6}, {2, 2}, {0, 0, 2}, {6, 6}},
      {{1, 1, 1, 2}, {1, 2}, {1, 1}, {0, 1}, {1, 3}, false, {kNone}, {-1}, {0, 0}, {0}},
      {{1, 2, 1, 2}, {1, 2}, {1, 1}, {0, 1}, {1, 2}, false, {5, 4, 7, 6}, {1, 0, 1, 0}, {1, 1, 1, 1}, {5, 4, 7, 6}}};
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16})
    for (const Case& c : cases) {
      SCOPED_TRACE(detail::str(dtype, ' ', IntArrayRef(c.sizes)));
      Tensor x = (iota(c.sizes) + 4).to(dtype).requires_grad_();
      const auto [y, at] = max_pool2d_with_indices(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode);
      EXPECT_EQ(valuesOf(y), c.values);
      EXPECT_EQ(valuesOf(at), c.places);
      Tensor seed = ones_like(y.detach()).requires_grad_();
      const Tensor g = autograd::grad({y}, {x}, {seed}, std::nullopt, true)[0];
      EXPECT_EQ(valuesOf(g), c.gradient);
      EXPECT_EQ(valuesOf(autograd::grad({g.mul(x.detach()).sum()}, {seed})[0]), c.second);
    }
}

TEST(AvgPool, WhatCounts) {
  const Tensor x = iota({1, 3, 3});
  EXPECT_EQ(valuesOf(avg_pool2d(x, 2, 1)), (Values{2, 3, 5, 6}));
  EXPECT_EQ(valuesOf(avg_pool2d(x, 2, 2, 1)), (Values{0, 0.75, 2.25, 6})) << "padding is counted";
  EXPECT_EQ(valuesOf(avg_pool2d(x, 2, 2, 1, false, false)), (Values{0, 1.5, 4.5, 6}));
  EXPECT_EQ(valuesOf(avg_pool2d(x, 2, 1, 0, false, true, 2)), (Values{4, 6, 10, 12}));
  EXPECT_EQ(valuesOf(avg_pool2d(x, 2, {}, 0, true)), (Values{2, 3.5, 6.5, 8})) << "what is left at the end";
  EXPECT_EQ(valuesOf(avg_pool2d(x.to(kLong), 2, 1)), (Values{2, 3, 5, 6}));
  EXPECT_EQ(avg_pool2d(x.to(kBFloat16), 2).dtype(), kBFloat16);
}

TEST(AdaptiveAvgPool, WindowsCoverEverything) {
  const Tensor x = iota({1, 1, 4});
  EXPECT_EQ(valuesOf(adaptive_avg_pool2d(x, Sizes{1, 2})), (Values{0.5, 2.5}));
  EXPECT_EQ(valuesOf(adaptive_avg_pool2d(x, Sizes{1, 3})), (Values{0.5, 1.5, 2.5})) << "they overlap";
  EXPECT_EQ(valuesOf(adaptive_avg_pool2d(x, Sizes{2, 1})), (Values{1.5, 1.5})) << "more than there are rows";
  EXPECT_EQ(valuesOf(adaptive_avg_pool2d(x, Sizes{1, 1})), (Values{1.5}));
  Tensor leaf = iota({1, 2, 3}).requires_grad_();
  adaptive_avg_pool2d(leaf, Sizes{1, 2}).sum().backward();
  EXPECT_EQ(valuesOf(leaf.grad()), (Values{0.25, 0.5, 0.25, 0.25, 0.5, 0.25}));
}

TEST(Pooling, NumbersBeyondEverySize) {
  const Tensor x = iota({1, 2, 2});
  constexpr int64_t kMany = int64_t{1} << 40, kHalf = int64_t{1} << 30;
  EXPECT_THAT(errorOf([&] { adaptive_avg_pool2d(x, Sizes{int64_t{1} << 50, 1}); }), HasSubstr("tried to allocate"));
  EXPECT_THAT(errorOf([&] { adaptive_avg_pool2d(x, Sizes{int64_t{1} << 62, int64_t{1} << 62}); }),
              HasSubstr("overflow"));
  EXPECT_EQ(adaptive_avg_pool2d(x.to(kMeta), Sizes{kMany, 1}).sizes(), IntArrayRef({1, kMany, 1}));
  EXPECT_EQ(avg_pool2d(empty({1, kMany, 1}, TensorOptions(kMeta)), 1).sizes(), IntArrayRef({1, kMany, 1}));
  for (const auto& pool : {+[](const Tensor& t, int64_t k, int64_t s, int64_t p) { return max_pool2d(t, k, s, p); },
                           +[](const Tensor& t, int64_t k, int64_t s, int64_t p) { return avg_pool2d(t, k, s, p); }}) {
    EXPECT_THAT(errorOf([&] { pool(x, kMany, 1, kMany / 2); }), HasSubstr("kernel_size=[1099511627776]"));
    EXPECT_THAT(errorOf([&] { pool(x, 2, kMany, 0); }), HasSubstr("stride=[1099511627776]"));
    EXPECT_THAT(errorOf([&] { pool(x, 2, 1, -kMany); }), HasSubstr("integer out of range"));
    EXPECT_EQ(pool(x, 2 * kHalf - 1, 2 * kHalf - 1, kHalf - 1).numel(), 1);
  }
  EXPECT_THAT(errorOf([&] { max_pool2d(x, 2, 1, 0, kMany); }), HasSubstr("dilation=[1099511627776]"));
}

TEST(Pooling, ChannelsLastStays) {
  const Tensor x = iota({2, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast);
  for (const Tensor& y : {max_pool2d(x, 2), avg_pool2d(x, 2), adaptive_avg_pool2d(x, Sizes{2, 3})}) {
    EXPECT_TRUE(y.is_contiguous(MemoryFormat::ChannelsLast));
    EXPECT_EQ(y.sizes().slice(0, 2), IntArrayRef({2, 3}));
  }
  EXPECT_EQ(valuesOf(max_pool2d(x, 2)), valuesOf(max_pool2d(iota({2, 3, 4, 4}), 2)));
}

TEST(Pooling, Errors) {
  const Tensor x = iota({1, 3, 3});
  EXPECT_THAT(errorOf([&] { max_pool2d(iota({3, 3}), 2); }), HasSubstr("Expected 3D or 4D (batch mode) tensor"));
  EXPECT_THAT(errorOf([&] { max_pool2d(x, 2, 1, 2); }), HasSubstr("pad should be at most half of kernel size"));
  EXPECT_THAT(errorOf([&] { max_pool2d(x, 4); }), HasSubstr("Output size is too small"));
  EXPECT_THAT(errorOf([&] { max_pool2d(x, Sizes{1, 1, 1}); }), HasSubstr("max_pool2d: kernel_size must either be"));
  EXPECT_THAT(errorOf([&] { max_pool2d(x.to(kLong), 2); }), HasSubstr("not implemented for 'Long'"));
  EXPECT_THAT(errorOf([&] { avg_pool2d(x, 2, 1, 0, false, true, 0); }), HasSubstr("divisor must be not zero"));
  EXPECT_THAT(errorOf([&] { avg_pool2d(x, 0); }), HasSubstr("kernel size should be greater than zero"));
  EXPECT_THAT(errorOf([&] { adaptive_avg_pool2d(x, Sizes{1, -1}); }), HasSubstr("greater than or equal to 0"));
}

}  // namespace
}  // namespace shunt::testing
