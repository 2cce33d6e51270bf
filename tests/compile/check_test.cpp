// SHUNT_COMPILE_CHECK=1: what a graph can't know is found where it differs. Runs with that variable set.
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CompileCheck, ANumberThatWasFrozen) {
  double factor = 2;
  auto fast = compile([&](const Tensor& x) { return x * factor; }, {.name = "scaling"});
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  factor = 3;
  EXPECT_THAT(errorOf([&] { fast(ones({2})); }),
              AllOf(HasSubstr("scaling"), HasSubstr("differ in result 0"), HasSubstr("CompileOptions::captures")));
}

TEST(CompileCheck, AVariableThatHoldsAnotherTensor) {
  Tensor w = ones({2});
  Tensor total = zeros({2});
  auto fast = compile([&](const Tensor& x) { total.add_(x * w); });
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  w = zeros({2});
  EXPECT_THAT(errorOf([&] { fast(ones({2})); }), HasSubstr("what is written to a tensor of shape [2]"));
}

TEST(CompileCheck, AGradThatDiffers) {
  double factor = 1;
  const Tensor w = ones({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { (x * w * factor).sum().backward(); });
  for (int i = 0; i < 4; ++i) fast(ones({3}));
  factor = 2;
  EXPECT_THAT(errorOf([&] { fast(ones({3})); }), HasSubstr("the grad of a tensor of shape [3]"));
}

TEST(CompileCheck, NaNsAreNoZeros) {
  double factor = 1;
  auto fast = compile([&](const Tensor& x) { return x * factor; });
  for (int i = 0; i < 3; ++i) fast(zeros({2}));
  factor = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(errorOf([&] { fast(zeros({2})); }), HasSubstr("differ in result 0"));
}

TEST(CompileCheck, HowManyResultsThereAre) {
  size_t n = 1;
  auto fast = compile([&](const Tensor& x) { return std::vector<Tensor>(n, x * 2); });
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  n = 2;
  EXPECT_THAT(errorOf([&] { fast(ones({2})); }), HasSubstr("how many tensors they return: 1 and 2"));
}

TEST(CompileCheck, WritesBesideAViewHappenOnce) {
  const Tensor all = zeros({4});
  auto fast = compile([](const Tensor& x) { x.as_strided({4}, {1}, 0).add_(1); });
  const Tensor half = all.narrow(0, 0, 2);
  for (int i = 0; i < 6; ++i) fast(half);
  EXPECT_TRUE(all.eq(6).all().item<bool>());
}

TEST(CompileCheck, EffectsHappenOnce) {
  Tensor total = zeros({2});
  auto fast = compile([&](const Tensor& x) {
    total.add_(x);
    return total.add(rand_like(x));
  });
  manual_seed(3);
  for (int i = 0; i < 6; ++i) fast(ones({2}));
  EXPECT_TRUE(total.eq(6).all().item<bool>());
  EXPECT_EQ(total._version(), 6);
  const Tensor next = rand({2});
  manual_seed(3);
  for (int i = 0; i < 6; ++i) rand({2});
  EXPECT_TRUE(next.eq(rand({2})).all().item<bool>());
  EXPECT_EQ(fast.counts().hits, 5u);
}

}  // namespace
}  // namespace shunt::test
