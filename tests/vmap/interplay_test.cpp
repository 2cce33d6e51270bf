// vmap and grad with what else stands above kernels: dispatch modes, tensor subclasses, functionalization, fake
// tensors, inference mode, the trace of calls.
#include "tests/support/wrapper.h"
#include "tests/vmap/util.h"

#include <shunt/interpose/dispatch_mode.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

namespace shunt::test {
namespace {

using test::Wrapper;
using testing::ElementsAre;

struct Recorder : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    names.push_back(op.operator_name().str());
    forEachTensor(*stack, [&](const Tensor& t) { dims.push_back(t.dim()); });
    op.callBoxed(stack);
  }
  std::vector<std::string> names;
  std::vector<int64_t> dims;
};

const auto affine_sum = [](const Tensor& t) { return (t * 2).sum(); };

TEST(Interplay, AModeOutsideSeesEachCallOnceAsTheFunctionMadeIt) {
  const Tensor x = randn({4, 3});
  Recorder mode;
  {
    const DispatchModeGuard on(mode);
    EXPECT_TRUE(sameValues(vmap(affine_sum)(x), (x * 2).sum(1)));
  }
  ASSERT_GE(mode.names.size(), 2u);
  EXPECT_THAT(std::vector<std::string>(mode.names.begin(), mode.names.begin() + 2),
              ElementsAre("aten::mul.Scalar", "aten::sum"));
  EXPECT_THAT(std::vector<int64_t>(mode.dims.begin(), mode.dims.begin() + 2), ElementsAre(1, 1));
}

// A mode makes each call by its boxed form: that of a level does what the other one does.
TEST(Interplay, BoxedCallsInLevelsComputeTheSame) {
  const auto loss = [](const std::vector<Tensor>& p, const Tensor& x, const Tensor& y) {
    const Tensor hidden = p[0].mv(x).add(p[1]).relu();
    const Tensor logits = linear(hidden.outer(hidden).softmax(-1).sum(0), p[2], p[3]);
    return cross_entropy_loss(logits, y) + (logits - 1).square().mean() * p[1].t().exp().sum();
  };
  const std::vector<Tensor> p = {randn({6, 5}), randn({6}), randn({4, 6}), randn({4})};
  const Tensor x = randn({3, 5}), y = randint(4, {3}, TensorOptions(kLong));
  const auto both = [&] {
    std::vector<Tensor> all = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(p, x, y);
    const auto whole = [&](const std::vector<Tensor>& q) {
      return vmap(loss, {.in_dims = {std::nullopt, 0, 0}})(q, x, y).sum();
    };
    for (const Tensor& t : grad(whole)(p)) all.push_back(t);
    const auto first = [&](const Tensor& w) { return loss({w, p[1], p[2], p[3]}, x[0], y[0]); };
    all.push_back(hessian(first)(p[0]));
    return all;
  };
  const std::vector<Tensor> plain = both();
  Recorder mode;
  std::vector<Tensor> boxed;
  {
    const DispatchModeGuard on(mode);
    boxed = both();
  }
  EXPECT_GT(mode.names.size(), 60u);
  ASSERT_EQ(plain.size(), boxed.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(sameValues(plain[i], boxed[i])) << i;
}

TEST(Interplay, AModeInsideSeesTheCallsOfItsScope) {
  const Tensor x = randn({4, 3});
  Recorder mode;
  const Tensor y = vmap([&](const Tensor& t) {
    const Tensor twice = t * 2;
    const DispatchModeGuard on(mode);
    return twice.sum();
  })(x);
  EXPECT_TRUE(sameValues(y, (x * 2).sum(1)));
  EXPECT_THAT(mode.names, ElementsAre("aten::sum"));
  Recorder in_grad;
  grad([&](const Tensor& t) {
    const DispatchModeGuard on(in_grad);
    return affine_sum(t);
  })(x);
  EXPECT_THAT(in_grad.names, ElementsAre("aten::mul.Scalar", "aten::sum"));
}

TEST(Interplay, FunctionalizeOutside) {
  const Tensor x = randn({4, 3});
  const auto f = [](const Tensor& t) {
    Tensor y = t.clone();
    y.mul_(2);
    y[0].add_(1);
    return y;
  };
  const Tensor expected = vmap(f)(x);
  const FunctionalizeCheckGuard check;
  EXPECT_TRUE(sameValues(functionalize([&](const Tensor& t) { return vmap(f)(t); })(x), expected));
  EXPECT_GT(check.calls(), 0);
  EXPECT_TRUE(sameValues(functionalize([&](const Tensor& t) { return grad(affine_sum)(t); })(x), zeros_like(x) + 2));
}

TEST(Interplay, FakeTensorsOutside) {
  const Tensor x = to_fake(randn({4, 3})), w = to_fake(randn({3, 5}));
  const Tensor y = vmap([](const Tensor& t, const Tensor& m) { return m.t().mv(t).softmax(0); },
                        {.in_dims = {0, std::nullopt}})(x, w);
  EXPECT_TRUE(is_fake(y));
  EXPECT_EQ(y.sizes(), IntArrayRef({4, 5}));
  const Tensor g = vmap(grad(affine_sum))(x);
  EXPECT_TRUE(is_fake(g));
  EXPECT_EQ(g.sizes(), x.sizes());
}

TEST(Interplay, SubclassesOutside) {
  const Tensor x = randn({4, 3});
  Wrapper::calls = 0;
  const Tensor y = vmap(affine_sum)(wrap<Wrapper>(x));
  EXPECT_GT(Wrapper::calls, 0);
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(y), (x * 2).sum(1)));
}

TEST(Interplay, InferenceMode) {
  const Tensor x = randn({4, 3});
  const InferenceMode inference;
  const Tensor y = vmap(affine_sum)(x);
  EXPECT_TRUE(y.is_inference());
  EXPECT_TRUE(sameValues(vmap(grad(affine_sum))(x), zeros({4, 3}) + 2));
}

TEST(Interplay, LeavingAndEnteringLevelsCompilesNothing) {
  const Tensor x = randn({4, 3});
  const auto f = vmap(grad(affine_sum));
  // Pairs get hot one after the other; once they have, no entering or leaving compiles.
  uint64_t before = 0, after = 1;
  for (int round = 0; round < 20 && before != after; ++round) {
    before = jit::stats().compiled;
    for (int i = 0; i < 1000; ++i) f(x);
    jit::wait_idle();
    after = jit::stats().compiled;
  }
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace shunt::test
