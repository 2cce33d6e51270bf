// conv1d, conv2d, convolution and its gradients: values worked out by hand, every way the window moves against the
// definition, sums that don't depend on threads. Random calls are compared with libtorch by the parity suite.
#include "tests/shape/util.h"
#include "tests/support/same_bits.h"

#include <shunt/core/parallel.h>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

/// Small numbers whose products and sums are exact in every dtype.
Tensor pattern(IntArrayRef sizes, ScalarType dtype, int64_t seed) {
  Tensor t = iota(sizes, kLong);
  return t.mul(7).add(seed).remainder(5).sub(2).to(dtype);
}

struct Moves {
  Sizes stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
};

/// The definition, term by term.
Tensor defined(const Tensor& x, const Tensor& w, const Moves& m) {
  const int64_t in = w.size(1), out = w.size(0), per_group = out / m.groups;
  const auto size = [&](size_t d) {
    const auto of = static_cast<int64_t>(d) + 2;
    return (x.size(of) + 2 * m.padding[d] - m.dilation[d] * (w.size(of) - 1) - 1) / m.stride[d] + 1;
  };
  Tensor y = zeros({x.size(0), out, size(0), size(1)}, TensorOptions(kDouble));
  const Tensor image = x.to(kDouble).contiguous(), weight = w.to(kDouble).contiguous();
  const auto *from = image.data_ptr<double>(), *of = weight.data_ptr<double>();
  auto* to = y.data_ptr<double>();
  for (int64_t n = 0; n < x.size(0); ++n)
    for (int64_t k = 0; k < out; ++k)
      for (int64_t oy = 0; oy < y.size(2); ++oy)
        for (int64_t ox = 0; ox < y.size(3); ++ox, ++to)
          for (int64_t c = 0; c < in; ++c)
            for (int64_t ky = 0; ky < w.size(2); ++ky)
              for (int64_t kx = 0; kx < w.size(3); ++kx) {
                const int64_t iy = oy * m.stride[0] - m.padding[0] + ky * m.dilation[0];
                const int64_t ix = ox * m.stride[1] - m.padding[1] + kx * m.dilation[1];
                if (iy < 0 || iy >= x.size(2) || ix < 0 || ix >= x.size(3)) continue;
                const int64_t channel = k / per_group * in + c;
                *to += from[((n * x.size(1) + channel) * x.size(2) + iy) * x.size(3) + ix] *
                       of[((k * in + c) * w.size(2) + ky) * w.size(3) + kx];
              }
  return y;
}

Tensor convolved(const Tensor& x, const Tensor& w, const Moves& m) {
  return conv2d(x, w, {}, m.stride, m.padding, m.dilation, m.groups);
}

TEST(Convolution, ByHand) {
  const Tensor x = iota({1, 1, 3, 3}), w = tensor({1.0, 0.0, 0.0, 2.0}).to(kFloat).reshape({1, 1, 2, 2});
  EXPECT_EQ(valuesOf(conv2d(x, w)), (Values{8, 11, 17, 20}));
  EXPECT_EQ(valuesOf(conv2d(x, w, tensor({10.0}).to(kFloat), 2)), (Values{18}));
  EXPECT_EQ(valuesOf(conv2d(x, w, {}, 2, 1)), (Values{0, 4, 12, 20}));
  EXPECT_EQ(valuesOf(conv1d(iota({1, 1, 4}), tensor({1.0, -1.0}).to(kFloat).reshape({1, 1, 2}))), (Values{-1, -1, -1}));
  EXPECT_EQ(conv2d(iota({1, 3, 3}), w).sizes(), IntArrayRef({1, 2, 2})) << "an image alone";
  EXPECT_EQ(conv2d(zeros({0, 1, 3, 3}), w).sizes(), IntArrayRef({0, 1, 2, 2}));
  EXPECT_EQ(valuesOf(convolution(x, w, {}, Sizes{2}, Sizes{0}, Sizes{1}, true, Sizes{0}, 1).select(2, 1).select(2, 1)),
            (Values{0}))
      << "of a transposed one, below and right of the first element: 2 times 0";
}

TEST(Convolution, PaddingByName) {
  const Tensor x = iota({1, 1, 4}), w = ones({1, 1, 2});
  EXPECT_EQ(valuesOf(conv1d(x, w, {}, 1, "valid", 1)), (Values{1, 3, 5}));
  EXPECT_EQ(valuesOf(conv1d(x, w, {}, 1, "same", 1)), (Values{1, 3, 5, 3})) << "the odd zero is behind";
  EXPECT_EQ(valuesOf(conv1d(x, ones({1, 1, 3}), {}, 1, "same", 1)), (Values{1, 3, 6, 5}));
  EXPECT_THAT(errorOf([&] { conv1d(x, w, {}, 2, "same", 1); }), HasSubstr("strided"));
  EXPECT_THAT(errorOf([&] { conv1d(x, w, {}, 1, "some", 1); }), HasSubstr("Invalid padding string: 'some'"));
}

TEST(Convolution, EveryMoveAndDtypeIsTheDefinition) {
  const Moves moves[] = {
      {}, {{2, 1}, {1, 2}, {1, 1}}, {{1, 3}, {0, 1}, {2, 1}}, {{1, 1}, {2, 2}, {2, 2}, 2}, {{2, 2}, {1, 1}, {1, 1}, 4}};
  for (const Moves& m : moves)
    for (const Sizes& kernel : {Sizes{1, 1}, Sizes{3, 2}, Sizes{2, 3}}) {
      const Sizes weight = {8, 4 / m.groups, kernel[0], kernel[1]};
      const Tensor expected = defined(pattern({3, 4, 7, 6}, kDouble, 1), pattern(weight, kDouble, 3), m);
      for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16, kLong, kShort}) {
        const Tensor got = convolved(pattern({3, 4, 7, 6}, dtype, 1), pattern(weight, dtype, 3), m);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_EQ(valuesOf(got), valuesOf(expected)) << dtype << " groups " << m.groups;
      }
    }
}

TEST(Convolution, LayoutsOfTheInput) {
  const Tensor x = pattern({2, 3, 5, 4}, kFloat, 1), w = pattern({4, 3, 3, 3}, kFloat, 2);
  const Tensor expected = conv2d(x, w, {}, 1, 1);
  const Tensor last = conv2d(x.contiguous(MemoryFormat::ChannelsLast), w, {}, 1, 1);
  EXPECT_EQ(valuesOf(last), valuesOf(expected));
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(valuesOf(conv2d(x.transpose(2, 3).contiguous().transpose(2, 3), w, {}, 1, 1)), valuesOf(expected));
}

/// Three results whose bytes are compared.
std::vector<Tensor> gradientsOf(const Tensor& x, const Tensor& w) {
  const Tensor y = conv2d(x, w, {}, 1, 1);
  const auto [i, k, b] = convolution_backward(y, x, w, Sizes{w.size(0)}, Sizes{1, 1}, Sizes{1, 1}, Sizes{1, 1}, false,
                                              Sizes{0, 0}, 1, {true, true, true});
  return {y, i, k, b};
}

TEST(Convolution, TheSameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
    manual_seed(3);
    // Enough for several parts, the last one smaller.
    const Tensor x = randn({37, 16, 24, 24}).to(dtype), w = randn({24, 16, 3, 3}).to(dtype);
    set_num_threads(1);
    const std::vector<Tensor> one = gradientsOf(x, w);
    set_num_threads(5);
    const std::vector<Tensor> many = gradientsOf(x, w);
    EXPECT_TRUE(test::sameBits(one, many)) << dtype;
  }
  set_num_threads(before);
}

TEST(Convolution, OfNothingIsTheBias) {
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16, kHalf, kInt}) {
    const TensorOptions options(dtype);
    const Tensor bias = iota({2}, dtype).add(1);
    EXPECT_EQ(valuesOf(conv1d(empty({1, 0, 3}, options), empty({2, 0, 2}, options), bias)), (Values{1, 1, 2, 2}));
    EXPECT_EQ(valuesOf(conv2d(empty({1, 0, 2, 2}, options), empty({2, 0, 2, 2}, options), bias)), (Values{1, 2}));
    EXPECT_EQ(valuesOf(conv2d(empty({1, 0, 2, 2}, options), empty({2, 0, 2, 2}, options))), (Values{0, 0}));
  }
  Tensor bias = iota({2}).requires_grad_();
  conv2d(empty({1, 0, 3, 2}), empty({2, 0, 2, 2}), bias).sum().backward();
  EXPECT_EQ(valuesOf(bias.grad()), (Values{2, 2}));
  EXPECT_THAT(errorOf([&] { conv2d(empty({1, 2, 0, 2}), empty({2, 2, 1, 1}), bias, 1, 1); }),
              HasSubstr("Only zero batch or zero channel inputs are supported"));
}

TEST(Convolution, NumbersBeyondEverySize) {
  const Tensor x = ones({1, 1, 4}), w = ones({1, 1, 3}), point = ones({1, 1, 1});
  constexpr int64_t kLarge = int64_t{1} << 62;
  const auto convolved = [&](int64_t stride, int64_t padding, int64_t dilation) {
    return errorOf([&] { conv1d(x, w, {}, stride, Sizes{padding}, dilation); });
  };
  EXPECT_THAT(convolved(1, kLarge, 1), HasSubstr("padding=[4611686018427387904]"));
  EXPECT_THAT(convolved(1, 0, kLarge), HasSubstr("dilation=[4611686018427387904]"));
  EXPECT_THAT(convolved(kLarge, 0, 1), HasSubstr("stride=[4611686018427387904]"));
  EXPECT_THAT(convolved(1, 0, int64_t{1} << 33), HasSubstr("Kernel size: (17179869185)"));
  EXPECT_THAT(errorOf([&] { conv1d(x, w, {}, 1, "same", INT64_MAX); }), HasSubstr("dilation"));
  EXPECT_THAT(errorOf([&] { convolution(x, w, {}, kLarge - 1, 0, 1, true, 0, 1); }), HasSubstr("sizes below 2^62"));
  EXPECT_EQ(valuesOf(conv1d(x, point, {}, kLarge - 1, Sizes{0}, kLarge)), (Values{1})) << "where they don't matter";
  EXPECT_EQ(valuesOf(conv1d(x, w, {}, int64_t{1} << 33)), (Values{3}));
  EXPECT_EQ(valuesOf(conv1d(x, w, {}, int64_t{1} << 40, int64_t{1} << 40)), (Values{0, 3, 0}));
}

TEST(Convolution, Gradients) {
  Tensor x = iota({1, 1, 3, 3}).requires_grad_(), w = ones({1, 1, 2, 2}).requires_grad_();
  Tensor b = zeros({1}).requires_grad_();
  conv2d(x, w, b).sum().backward();
  EXPECT_EQ(valuesOf(x.grad()), (Values{1, 2, 1, 2, 4, 2, 1, 2, 1}));
  EXPECT_EQ(valuesOf(w.grad()), (Values{8, 12, 20, 24}));
  EXPECT_EQ(valuesOf(b.grad()), (Values{4}));
  const auto [i, k, c] = convolution_backward(ones({1, 1, 2, 2}), x, w, {}, Sizes{1, 1}, Sizes{0, 0}, Sizes{1, 1},
                                              false, Sizes{0, 0}, 1, {false, true, false});
  EXPECT_FALSE(i.defined() || c.defined()) << "nobody wants them";
  EXPECT_EQ(valuesOf(k), (Values{8, 12, 20, 24}));
}

TEST(Convolution, Errors) {
  const Tensor x = iota({1, 2, 3, 3}), w = ones({4, 2, 2, 2});
  EXPECT_THAT(errorOf([&] { conv2d(iota({3, 3}), w); }), HasSubstr("Expected 3D (unbatched) or 4D (batched) input"));
  EXPECT_THAT(errorOf([&] { conv2d(x, ones({4, 3, 2, 2})); }), HasSubstr("to have 3 channels, but got 2 channels"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w, ones({3})); }), HasSubstr("expected bias to be 1-dimensional with 4"));
  EXPECT_THAT(errorOf([&] { conv2d(x, ones({4, 2, 4, 4})); }),
              HasSubstr("Kernel size: (4 x 4). Kernel size can't be greater than actual input size"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w, {}, 0); }), HasSubstr("non-positive stride"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w, {}, 1, -1); }), HasSubstr("negative padding"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w.to(kDouble)); }), HasSubstr("Input type (Float) and weight type (Double)"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w, {}, Sizes{1, 1, 1}); }), HasSubstr("list of 2 values"));
  EXPECT_THAT(errorOf([&] { conv2d(x, w, {}, 1, Sizes{0}, 1, 3); }), HasSubstr("divisible by 3"));
}

}  // namespace
}  // namespace shunt::testing
