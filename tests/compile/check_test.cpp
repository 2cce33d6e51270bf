// SHUNT_COMPILE_CHECK=1: what a graph can't know is found where it differs. Runs with that variable set; one test also
// with "never".
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string_view>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CompileCheck, TheEnvironmentSetsTheDefault) {
  const char* value = std::getenv("SHUNT_COMPILE_CHECK");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(CompileOptions().check, std::string_view(value) == "never" ? CompileCheck::kNever : CompileCheck::kAlways);
}

TEST(CompileCheck, ANumberThatWasFrozen) {
  double factor = 2;
  auto fast = compile([&](const Tensor& x) { return x * factor; }, {.name = "scaling"});
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  factor = 3;
  EXPECT_THAT(errorOf([&] { fast(ones({2})); }),
              AllOf(HasSubstr("scaling"), HasSubstr("differ in result 0: element [0] is 2, expected 3."),
                    HasSubstr("CompileOptions::captures")));
}

TEST(CompileCheck, AGeneratorOfTheProgramDrawsTheSameAgain) {
  const Generator own = make_generator(5), twin = make_generator(5);
  auto fast = compile([&](const Tensor& x) { return x + empty_like(x).uniform_(0, 1, own); });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = ones({3});
    EXPECT_TRUE(fast(x).equal(x + empty_like(x).uniform_(0, 1, twin)));
  }
  EXPECT_EQ(fast.counts().hits, 3u);
}

TEST(CompileCheck, AVariableThatHoldsAnotherTensor) {
  Tensor w = ones({2});
  Tensor total = zeros({2});
  auto fast = compile([&](const Tensor& x) { total.add_(x * w); });
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  w = zeros({2});
  EXPECT_THAT(errorOf([&] { fast(ones({2})); }),
              HasSubstr("what is written to a tensor of shape [2]: element [0] is 4, expected 3."));
}

TEST(CompileCheck, AGradThatDiffers) {
  double factor = 1;
  const Tensor w = ones({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { (x * w * factor).sum().backward(); });
  for (int i = 0; i < 4; ++i) fast(ones({3}));
  factor = 2;
  EXPECT_THAT(errorOf([&] { fast(ones({3})); }),
              HasSubstr("the grad of a tensor of shape [3]: element [0] is 5, expected 6."));
}

TEST(CompileCheck, NaNsAreNoZeros) {
  double factor = 1;
  auto fast = compile([&](const Tensor& x) { return x * factor; });
  for (int i = 0; i < 3; ++i) fast(zeros({2}));
  factor = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(errorOf([&] { fast(zeros({2})); }), HasSubstr("differ in result 0: element [0] is 0, expected nan."));
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

/// relu's gradient, which is wrong in each second call.
struct WrongEachSecondTime {
  int calls = 0;
  Library library{Library::Kind::kImpl, "aten", DispatchKey::CPU};
  explicit WrongEachSecondTime(float wrong) {
    library.impl("threshold_backward", [this, wrong](const Tensor& grad, const Tensor& self, const Scalar&) {
      const Tensor out = grad * self.gt(0).to(kFloat);
      if (calls++ % 2 == 1) out.view({-1})[1].fill_(wrong);
      return out;
    });
  }
};

TEST(CompileCheckBackward, RightPassesAreFine) {
  const Tensor w = ones({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return ((x * w).tanh() * w).relu().sum(); });
  for (int i = 0; i < 6; ++i) {
    const Tensor x = full({2, 3}, 0.5 * i).requires_grad_(), y = fast(x);
    EXPECT_EQ(y.grad_fn()->name() == "CompiledFunctionBackward", i > 0);
    y.backward();
    w.mutable_grad() = Tensor();
  }
  EXPECT_EQ(fast.counts().recorded, 1u);
}

TEST(CompileCheckBackward, AKernelThatGivesSomethingElseTheSecondTime) {
  const WrongEachSecondTime kernel(7);
  auto fast = compile([&](const Tensor& a, const Tensor& x) { return (a + x).relu(); }, {.name = "adding"});
  const Tensor a = ones({2, 3}), x = ones({2, 3}).requires_grad_();
  for (int i = 0; i < 3; ++i) fast(a, x);
  EXPECT_THAT(errorOf([&] { fast(a, x).backward(ones({2, 3})); }),
              AllOf(HasSubstr("adding: SHUNT_COMPILE_CHECK"), HasSubstr("the gradient of argument tensor 1"),
                    HasSubstr("of shape [2, 3]: element [0, 1] is 7, expected 1")));
  EXPECT_EQ(kernel.calls, 2);
}

TEST(CompileCheckBackward, PartsOfASumAndCapturedTensors) {
  const WrongEachSecondTime kernel(5);
  const Tensor w = ones({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return (w * x).relu() + w * 2; });
  for (int i = 0; i < 3; ++i) fast(ones({3}));
  EXPECT_THAT(
      errorOf([&] { fast(ones({3})).backward(ones({3})); }),
      AllOf(HasSubstr("part 2 of 2 of the gradient of captured tensor 0"), HasSubstr("element [1] is 5, expected 1")));
}

TEST(CompileCheckBackward, NaNsAreOneButNoNumbers) {
  const WrongEachSecondTime kernel(std::numeric_limits<float>::quiet_NaN());
  auto fast = compile([&](const Tensor& x) { return x.relu(); });
  const Tensor x = ones({3}).requires_grad_();
  for (int i = 0; i < 3; ++i) fast(x);
  const Tensor nan = full({3}, std::numeric_limits<double>::quiet_NaN());
  autograd::grad({fast(x)}, {x}, {nan});
  EXPECT_THAT(errorOf([&] { autograd::grad({fast(x)}, {x}, {ones({3})}); }),
              HasSubstr("element [1] is nan, expected 1"));
}

// What the graph reads was changed since, unseen by versions: running it again gives other gradients, and no error.
TEST(CompileCheckBackward, WhatWasChangedSinceIsNotCompared) {
  auto fast = compile([&](const Tensor& x, const Tensor& w) { return (x.exp() * w).tanh().sum(); });
  const auto call = [&](const auto& change) {
    const Tensor x = ones({3}), w = ones({3}).requires_grad_();
    for (int i = 0; i < 3; ++i) fast(x, w);
    const Tensor y = fast(x, w);
    EXPECT_EQ(y.grad_fn()->name(), "CompiledFunctionBackward");
    change(x);
    y.backward();
    return w.grad();
  };
  const Tensor expected = call([](const Tensor&) {});
  EXPECT_TRUE(call([](const Tensor& x) { x.data().add_(1); }).eq(expected).all().item<bool>());
  EXPECT_TRUE(call([](const Tensor& x) { x.add_(1); }).eq(expected).all().item<bool>());
}

TEST(CompileCheckBackward, RandomNumbersAreTheSameAgain) {
  auto fast = compile([](const Tensor& x) { return dropout(x * 2, 0.5, true).sum(); });
  const Tensor x = ones({64}).requires_grad_();
  manual_seed(4);
  for (int i = 0; i < 4; ++i) fast(x).backward();
  const Tensor next = rand({2});
  manual_seed(4);
  for (int i = 0; i < 4; ++i) dropout(x * 2, 0.5, true);
  EXPECT_TRUE(next.eq(rand({2})).all().item<bool>());
}

TEST(CompileCheckBackward, CheckingIsNoReasonToKeepTheHistory) {
  auto fast = compile([](const Tensor& x) { return (x * x).sum(); });
  const Tensor x = ones({64}).requires_grad_();
  for (int i = 0; i < 40; ++i) {
    x.mutable_grad() = Tensor();
    fast(x).backward();
  }
  EXPECT_EQ(fast.counts().recorded, 1u);
}

}  // namespace
}  // namespace shunt::test
