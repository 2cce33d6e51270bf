// repeat, roll, tril, triu; isclose, allclose, equal, true_divide; l1_loss and binary_cross_entropy_with_logits: what
// is made of other operators. Expected values are PyTorch's documentation's or worked out by hand; random calls are
// compared with libtorch by the parity suite.
#include "tests/shape/util.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;

TEST(Rearrange, Repeat) {
  const Tensor x = iota({3});
  EXPECT_EQ(x.repeat({2}).sizes(), IntArrayRef({6}));
  EXPECT_EQ(valuesOf(x.repeat({2, 2})), (Values{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(valuesOf(iota({2, 2}).repeat({1, 2})), (Values{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(x.repeat({4, 0}).sizes(), IntArrayRef({4, 0}));
  EXPECT_FALSE(x.repeat({1}).is_alias_of(x)) << "a copy even when nothing is repeated";
  EXPECT_THAT(errorOf([&] { iota({2, 2}).repeat({2}); }), HasSubstr("can not be smaller"));
  EXPECT_THAT(errorOf([&] { x.repeat({-1}); }), HasSubstr("dimension 0"));
  Tensor leaf = iota({2}).requires_grad_();
  leaf.repeat({3, 2}).sum().backward();
  EXPECT_EQ(valuesOf(leaf.grad()), (Values{6, 6}));
}

TEST(Rearrange, Roll) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(valuesOf(roll(x, 1, 1)), (Values{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(valuesOf(roll(x, -1, 1)), (Values{1, 2, 0, 4, 5, 3}));
  EXPECT_EQ(valuesOf(roll(x, 7, -1)), (Values{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(valuesOf(roll(x, 2)), (Values{4, 5, 0, 1, 2, 3})) << "without dimensions: of all elements in a row";
  EXPECT_EQ(valuesOf(roll(x, {1, 1}, {0, 1})), (Values{5, 3, 4, 2, 0, 1}));
  EXPECT_EQ(roll(iota({0, 3}), 1, 0).sizes(), IntArrayRef({0, 3}));
  EXPECT_THAT(errorOf([&] { roll(x, {1, 2}, {0}); }), HasSubstr("must align"));
  EXPECT_THAT(errorOf([&] { roll(x, IntArrayRef{}, {0}); }), HasSubstr("`shifts` required"));
}

TEST(Rearrange, Triangles) {
  const Tensor x = iota({2, 3}).add(1);
  EXPECT_EQ(valuesOf(x.tril()), (Values{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(valuesOf(x.tril(1)), (Values{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(valuesOf(x.triu()), (Values{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(valuesOf(x.triu(1)), (Values{0, 2, 3, 0, 0, 6}));
  const Tensor infinite = full({2, 2}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(valuesOf(infinite.tril(-2)), (Values{0, 0, 0, 0})) << "what is left out is 0, not 0 times it";
  Tensor y = iota({2, 2, 2}).add(1);
  EXPECT_EQ(valuesOf(y.triu_()), (Values{1, 2, 0, 4, 5, 6, 0, 8}));
  EXPECT_THAT(errorOf([&] { iota({1, 2}).expand({2, 2}).tril_(); }), HasSubstr("single memory location"));
  EXPECT_THAT(errorOf([&] { iota({3}).tril(); }), HasSubstr("at least 2 dimensions"));
  Tensor leaf = iota({2, 2}).requires_grad_();
  leaf.tril().sum().backward();
  EXPECT_EQ(valuesOf(leaf.grad()), (Values{1, 0, 1, 1}));
}

TEST(Rearrange, OutForms) {
  const Tensor x = iota({2, 2}).add(1);
  Tensor out = empty({0});
  EXPECT_EQ(&tril_out(out, x), &out);
  EXPECT_EQ(valuesOf(out), (Values{1, 0, 3, 4}));
  EXPECT_EQ(out.sizes(), IntArrayRef({2, 2})) << "resized";
  EXPECT_EQ(valuesOf(triu_out(out, x, 1)), (Values{0, 2, 0, 0}));
  EXPECT_EQ(valuesOf(roll_out(out, x, 1)), (Values{4, 1, 2, 3}));
  Tensor strided = empty({2, 4}).t();
  EXPECT_EQ(valuesOf(repeat_out(strided, x, {2, 1})), (Values{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(strided.strides(), IntArrayRef({1, 4})) << "a fitting one keeps its strides";
  Tensor self = x.clone();
  EXPECT_EQ(valuesOf(tril_out(self, self)), (Values{1, 0, 3, 4})) << "into its own argument";
  Tensor doubles = empty({2, 2}, kDouble), whole = empty({2, 2}, kInt);
  EXPECT_THAT(errorOf([&] { tril_out(doubles, x); }), HasSubstr("Expected out tensor to have dtype"));
  EXPECT_EQ(valuesOf(roll_out(doubles, x, 1)), (Values{4, 1, 2, 3})) << "cast";
  EXPECT_THAT(errorOf([&] { repeat_out(whole, x, {1, 1}); }), HasSubstr("can't be cast"));
  Tensor loss = empty({});
  const Tensor t = ones({2, 2});
  EXPECT_EQ(valuesOf(binary_cross_entropy_with_logits_out(loss, x, t)),
            valuesOf(binary_cross_entropy_with_logits(x, t)));
  Tensor leaf = iota({2, 2}).requires_grad_();
  EXPECT_THAT(errorOf([&] { triu_out(out, leaf); }), HasSubstr("automatic differentiation"));
  Tensor meta = empty({0}, TensorOptions(kMeta));
  EXPECT_EQ(tril_out(meta, x.to(kMeta)).sizes(), IntArrayRef({2, 2}));
  EXPECT_EQ(repeat_out(meta, x.to(kMeta), {3, 1}).sizes(), IntArrayRef({6, 2}));
}

TEST(Compare, Close) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor({1.0, inf, nan, 1e-9, inf}), b = tensor({1.0 + 1e-6, inf, nan, 0.0, -inf});
  EXPECT_EQ(valuesOf(isclose(a, b)), (Values{1, 1, 0, 1, 0}));
  EXPECT_EQ(valuesOf(isclose(a, b, 1e-5, 1e-8, true)), (Values{1, 1, 1, 1, 0}));
  EXPECT_EQ(valuesOf(isclose(a, b, 0, 0)), (Values{0, 1, 0, 0, 0}));
  const Tensor bytes = tensor({uint8_t{1}, uint8_t{5}}), others = tensor({uint8_t{2}, uint8_t{5}});
  EXPECT_EQ(valuesOf(isclose(bytes, others)), (Values{0, 1})) << "1 - 2 is no large number";
  EXPECT_TRUE(allclose(a, a, 1e-5, 1e-8, true));
  EXPECT_FALSE(a.allclose(b));
  EXPECT_THAT(errorOf([&] { isclose(a, bytes); }), HasSubstr("did not match"));
  EXPECT_THAT(errorOf([&] { isclose(a, b, -1); }), HasSubstr("rtol must be greater"));
}

TEST(Compare, Equal) {
  const Tensor x = iota({2, 3});
  EXPECT_TRUE(x.equal(x.clone()));
  EXPECT_TRUE(x.equal(x.t().contiguous().t())) << "whatever the strides";
  EXPECT_FALSE(x.equal(x.add(1)));
  EXPECT_FALSE(x.equal(x.view({3, 2})));
  EXPECT_TRUE(iota({0}).equal(iota({0})));
  EXPECT_TRUE(x.equal(x.to(kLong))) << "whatever the dtypes";
  EXPECT_FALSE(x.equal(x.to(kDouble).add(1e-12)));
  EXPECT_EQ(valuesOf(true_divide(x, 2)), valuesOf(x.div(2)));
}

TEST(Losses, OfOtherOperators) {
  const Tensor x = tensor({-1.0, 0.0, 2.0}, kDouble), t = tensor({0.0, 1.0, 1.0}, kDouble);
  EXPECT_EQ(valuesOf(l1_loss(x, t, 0)), (Values{1, 1, 1}));
  EXPECT_EQ(l1_loss(x, t).item<double>(), 1);
  const auto bce = [](double v, double target) { return std::log1p(std::exp(-v)) + (1 - target) * v; };
  const Tensor losses = binary_cross_entropy_with_logits(x, t, {}, {}, 0);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(losses[i].item<double>(), bce(x[i].item<double>(), t[i].item<double>()), 1e-12);
  EXPECT_NEAR(binary_cross_entropy_with_logits(tensor({-800.0}, kDouble), tensor({1.0}, kDouble)).item<double>(), 800,
              1e-9)
      << "no overflow";
  // d/dx is sigmoid(x) - t, over 3 under reduction mean.
  Tensor leaf = x.clone().requires_grad_();
  binary_cross_entropy_with_logits(leaf, t).backward();
  EXPECT_TRUE(allclose(leaf.grad(), x.sigmoid().sub(t).div(3)));
  const Tensor weighted =
      binary_cross_entropy_with_logits(x, t, tensor({1.0, 2.0, 3.0}, kDouble), tensor({2.0}, kDouble), 0);
  EXPECT_NEAR(weighted[2].item<double>(), 3 * 2 * std::log1p(std::exp(-2.0)), 1e-12);
  // Whole numbers are logits, too, and those without a sign have a negative.
  for (const ScalarType dtype : {kLong, kByte}) {
    const Tensor whole =
        binary_cross_entropy_with_logits(tensor({0.0, 3.0}, dtype), tensor({1.0, 0.0}, kFloat), {}, {}, 0);
    EXPECT_EQ(whole.dtype(), kFloat) << dtype;
    EXPECT_NEAR(whole[0].item<double>(), bce(0, 1), 1e-6) << dtype;
    EXPECT_NEAR(whole[1].item<double>(), bce(3, 0), 1e-6) << dtype;
  }
}

TEST(Activations, Forms) {
  const Tensor x = tensor({-2.0, -0.5, 0.0, 3.0}, kDouble);
  EXPECT_EQ(valuesOf(leaky_relu(x, 0.5)), (Values{-1, -0.25, 0, 3}));
  EXPECT_EQ(valuesOf(hardtanh(x)), (Values{-1, -0.5, 0, 1}));
  EXPECT_EQ(valuesOf(hardtanh(tensor({int64_t{-3}, int64_t{7}}), 0.5, 5.5)), (Values{0, 5}));
  EXPECT_EQ(valuesOf(softplus(tensor({30.0, 0.0}, kDouble))), (Values{30, std::log(2.0)}));
  EXPECT_THAT(errorOf([] { hardtanh(tensor({true})); }), HasSubstr("Bool inputs"));
  EXPECT_THAT(errorOf([] { hardtanh(tensor({uint8_t{1}}), -1, 1); }), HasSubstr("unsigned type with negative limits"));
  Tensor leaf = x.clone().requires_grad_();
  Tensor y = leaf.mul(1);
  leaky_relu_(y, -0.5);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("negative slope"));
}

}  // namespace
}  // namespace shunt::testing
