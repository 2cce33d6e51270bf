// Fake tensors under the other modes, and the other modes under FakeTensorMode.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt {
namespace {

using test::errorOf;
using ::testing::ElementsAre;

struct Names : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    names.push_back(op.operator_name().str());
    op.callBoxed(stack);
  }
  std::vector<std::string> names;
};

TEST(FakeComposition, ADispatchModeSeesFakeTensors) {
  Names names;
  {
    const FakeTensorMode fake;
    const DispatchModeGuard on(names);
    const Tensor x = ones({2, 3});
    EXPECT_TRUE(is_fake(linear(x, x)));
  }
  {
    const DispatchModeGuard on(names);
    const FakeTensorMode fake;
    EXPECT_TRUE(is_fake(ones({2})));
  }
  EXPECT_THAT(names.names, ElementsAre("aten::ones", "aten::linear", "aten::ones"));
}

TEST(FakeComposition, ItemOfARealTensorIsTheSameUnderADispatchMode) {
  const Tensor real = full({1}, 3);
  Names names;
  const FakeTensorMode fake;
  EXPECT_EQ(real.item<float>(), 3);
  const DispatchModeGuard on(names);
  EXPECT_EQ(real.item<float>(), 3);
  EXPECT_THAT(names.names, ElementsAre("aten::_local_scalar_dense"));
}

TEST(FakeComposition, AutocastCasts) {
  const Tensor x = to_fake(randn({4, 8})), w = to_fake(randn({2, 8})).requires_grad_();
  {
    const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
    const Tensor y = linear(x, w);
    EXPECT_EQ(y.dtype(), kBFloat16);
    y.sum().backward();
  }
  EXPECT_EQ(w.grad().dtype(), kFloat);
  const FakeTensorMode mode;
  const AutocastGuard autocast(DeviceType::CUDA, kHalf);
  EXPECT_EQ(ones({2, 2}, TensorOptions().device(kCUDA)).mm(ones({2, 2}, TensorOptions().device(kCUDA))).dtype(), kHalf);
}

TEST(FakeComposition, NoGradAndInferenceMode) {
  const Tensor w = to_fake(randn({3})).requires_grad_();
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE((w * 2).requires_grad());
  }
  {
    const InferenceMode inference;
    const Tensor y = w * 2;
    EXPECT_TRUE(y.is_inference());
    EXPECT_FALSE(w.view({3}).is_inference());
    const FakeTensorMode mode;
    EXPECT_TRUE(ones({2}).is_inference());
  }
  const FakeTensorMode mode;
  const InferenceMode inference;
  const Tensor z = ones({2});
  EXPECT_TRUE(is_fake(z) && z.is_inference());
}

struct Square : autograd::Function<Square> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0] * 2};
  }
};

TEST(FakeComposition, CustomFunctions) {
  const Tensor x = to_fake(randn({3})).requires_grad_();
  const Tensor y = Square::apply(x);
  EXPECT_TRUE(is_fake(y));
  y.sum().backward();
  EXPECT_TRUE(is_fake(x.grad()));
}

TEST(FakeComposition, SecondDerivatives) {
  const Tensor x = to_fake(randn({3})).requires_grad_();
  const auto first = autograd::grad({x.pow(3).sum()}, {x}, {}, std::nullopt, true);
  EXPECT_TRUE(first[0].requires_grad());
  const auto second = autograd::grad({first[0].sum()}, {x});
  EXPECT_TRUE(is_fake(second[0]));
  EXPECT_EQ(second[0].sizes(), x.sizes());
}

TEST(FakeComposition, OtherThreadsAreNotInTheMode) {
  const FakeTensorMode mode;
  bool fake = true;
  std::thread([&] { fake = is_fake(ones({2})); }).join();
  EXPECT_FALSE(fake);
}

TEST(FakeComposition, AnErrorLeavesTheModeAsItWas) {
  const FakeTensorMode mode;
  for (int i = 0; i < 3; ++i) EXPECT_NE(errorOf([] { ones({2, 3}).mm(ones({2, 3})); }), "no error");
  EXPECT_TRUE(is_fake(ones({2})));
  EXPECT_EQ(tls_excluded(), DispatchKeySet::fromRaw(detail::kDefaultExcluded));
}

// Also where every pair is hot at its first call (SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1).
TEST(FakeComposition, ThunksNeverMeetThem) {
  const Tensor real = randn({16}), fake = to_fake(real);
  const auto step = [](const Tensor& x) { return (x + x).relu().mul(x).sum(); };
  for (int i = 0; i < 50; ++i) {
    const Tensor r = step(real), f = step(fake);
    ASSERT_FALSE(is_fake(r));
    ASSERT_TRUE(is_fake(f));
    ASSERT_EQ(r.item<float>(), step(real).item<float>());
    const FakeTensorMode mode;
    ASSERT_TRUE(is_fake(step(fake)));
    ASSERT_TRUE(is_fake(ones({16})));
    ASSERT_NE(errorOf([&] { step(real); }), "no error");
  }
}

}  // namespace
}  // namespace shunt
