// Backward passes of compiled functions' results: the gradients that eager code gives, to the bit, by one node.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;

constexpr int kCalls = 5;

struct Net {
  Tensor w1, b1, w2;
  Net() {
    manual_seed(3);
    w1 = randn({8, 4}).requires_grad_();
    b1 = randn({8}).requires_grad_();
    w2 = randn({3, 8}).requires_grad_();
  }
  std::vector<Tensor> parameters() const { return {w1, b1, w2}; }
  Tensor forward(const Tensor& x) const { return linear(linear(x, w1, b1).tanh(), w2, {}).sigmoid(); }
};

bool isCompiled(const Tensor& t) { return t.grad_fn() && t.grad_fn()->name() == "CompiledFunctionBackward"; }

TEST(CompiledBackward, GivesTheGradsOfEagerCode) {
  Net plain, other;
  auto fast = compile([&](const Tensor& x) { return other.forward(x); });
  const Tensor x = numbers({16, 4}), y = numbers({16, 3}, 9);
  uint64_t hits = 0;
  for (int i = 0; i < 2 * kCalls; ++i) {
    const Tensor expected = plain.forward(x), got = fast(x);
    ASSERT_TRUE(same(got, expected));
    EXPECT_EQ(isCompiled(got), fast.counts().hits > hits) << fast.explain();
    hits = fast.counts().hits;
    EXPECT_EQ(got._version(), expected._version());
    if (i % 3 == 0) {
      mse_loss(expected, y).backward(), mse_loss(got, y).backward();
    } else if (i % 3 == 1) {
      expected.backward(y), got.backward(y);
    } else {
      expected.sum().backward(), got.sum().backward();
    }
    const NoGradGuard no_grad;
    for (size_t k = 0; k < 3; ++k) {
      Tensor a = plain.parameters()[k], b = other.parameters()[k];
      ASSERT_TRUE(same(a.grad(), b.grad())) << i << ' ' << k << fast.plan();
      EXPECT_EQ(a.grad()._version(), b.grad()._version()) << k;
      a.sub_(a.grad(), 0.1), b.sub_(b.grad(), 0.1);
      if (i % 2 == 0) a.mutable_grad() = Tensor(), b.mutable_grad() = Tensor();
    }
  }
  EXPECT_GE(fast.counts().hits, 2u * kCalls - 2) << fast.explain();
}

}  // namespace
}  // namespace shunt::test
