// Tensors of a program's class that are met where kernels are: Note [Kernel classes].
#include <shunt/interpose/kernel_class.h>
#include <shunt/shunt.h>
#include <shunt/transforms/autocast.h>

#include "tests/modes/recorder.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string>& calls() {
  static std::vector<std::string> log;
  return log;
}

// Holds a plain tensor, on which it calls the operator.
struct Holder : KernelClass {
  explicit Holder(Tensor held) : held(std::move(held)) {}
  void handle(const OperatorHandle& op, Stack* stack) override {
    EXPECT_TRUE(tls_is_excluded(DispatchKey::AutogradCPU));
    calls().push_back(op.operator_name().name);
    Stack given = *stack;
    for (IValue& v : *stack) v = mapTensors(v, [](const Tensor& t) { return inner(t); });
    op.callBoxed(stack);
    const auto& returns = op.schema().returns();
    for (size_t i = 0; i < returns.size(); ++i)
      (*stack)[i] = returns[i].is_write() ? given[0] : mapTensors((*stack)[i], [](const Tensor& t) { return of(t); });
  }
  std::string name() const override { return "Holder"; }

  static Tensor of(const Tensor& t) {
    return t.defined()
               ? make_class_tensor(std::make_shared<Holder>(t), t.sizes(), t.strides(), t.storage_offset(), t.options())
               : t;
  }
  static Tensor inner(const Tensor& t) {
    const auto holder = std::dynamic_pointer_cast<Holder>(kernel_class_of(t));
    return holder != nullptr ? holder->held : t;
  }

  const Tensor held;
};

class KernelClasses : public testing::Test {
 protected:
  KernelClasses() { calls().clear(); }
  const Tensor a = randn({2, 3}), b = randn({2, 3});
};

Tensor program(const Tensor& x, const Tensor& w) { return (x * w).exp().t().matmul(x).softmax(1).sum() + w.mean(); }

TEST_F(KernelClasses, HaveGraphsOfTheirOwn) {
  const Tensor x = Holder::of(a).requires_grad_();
  EXPECT_TRUE(x.is_leaf());
  const Tensor y = x * 2;
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward1");
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(Holder::inner(y).requires_grad());
  EXPECT_TRUE(Holder::inner(y).equal(a * 2));
  y.sum().backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_TRUE(Holder::inner(x.grad()).equal(full({2, 3}, 2.)));
  EXPECT_NE(kernel_class_of(x.grad()), nullptr);
  (x * 3).sum().backward();
  EXPECT_TRUE(Holder::inner(x.grad()).equal(full({2, 3}, 5.)));
}

TEST_F(KernelClasses, GiveTheGradientsOfPlainTensors) {
  const auto run = [&](auto wrap) {
    const Tensor x = wrap(a).requires_grad_(), w = wrap(b).requires_grad_();
    const Tensor y = program(x, w);
    const auto g = autograd::grad({y}, {x, w}, {}, true, true);
    const auto gg = autograd::grad({(g[0] * g[1]).sum()}, {x, w});
    std::vector<Tensor> out = {y.detach(), g[0].detach(), g[1].detach(), gg[0], gg[1]};
    for (Tensor& t : out) t = Holder::inner(t);
    return out;
  };
  const auto expected = run([](const Tensor& t) { return t.clone(); });
  const auto got = run([](const Tensor& t) { return Holder::of(t); });
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(got[i].allclose(expected[i])) << i;
}

TEST_F(KernelClasses, ComeInCompositesAsTheirParts) {
  linear(Holder::of(a), b);
  EXPECT_THAT(calls(), Not(Contains("aten::linear")));
  EXPECT_THAT(calls(), Contains("aten::mm"));
}

TEST_F(KernelClasses, AreCast) {
  const AutocastGuard guard(kCPU, kBFloat16);
  const Tensor y = Holder::of(a).matmul(Holder::of(b).t());
  EXPECT_EQ(y.dtype(), kBFloat16);
  EXPECT_THAT(calls(), Contains("aten::_to_copy"));
}

TEST_F(KernelClasses, ComeAfterModesAtTheirLevel) {
  std::vector<std::string> seen;
  KernelRecorder mode(seen);
  {
    const DispatchModeGuard guard(mode);
    Holder::of(a).exp();
  }
  EXPECT_THAT(seen, ElementsAre("aten::exp"));
  EXPECT_THAT(calls(), ElementsAre("aten::exp"));
}

TEST_F(KernelClasses, KeepTheirClassWhereAutogradKeepsThem) {
  const Tensor x = Holder::of(a).requires_grad_();
  const Tensor y = x.exp();  // saves its result
  calls().clear();
  y.sum().backward();
  EXPECT_THAT(calls(), Contains("aten::mul"));
  EXPECT_NE(kernel_class_of(x.detach()), nullptr);
  EXPECT_TRUE(Holder::inner(x.detach()).equal(a));
}

TEST_F(KernelClasses, InPlaceAndViews) {
  const Tensor x = Holder::of(a.clone()).requires_grad_();
  const Tensor y = x * 1;
  y.mul_(3);
  const Tensor v = y.select(0, 1);
  EXPECT_TRUE(v.is_view());
  (v * v).sum().backward();
  Tensor expected = zeros({2, 3});
  expected.select(0, 1).copy_(a.select(0, 1) * 18);
  EXPECT_TRUE(Holder::inner(x.grad()).allclose(expected));
}

TEST_F(KernelClasses, HaveNoData) {
  const Tensor x = Holder::of(a);
  EXPECT_THAT(errorOf([&] { x.data_ptr<float>(); }), HasSubstr("a tensor of a KernelClass"));
  const ExcludeDispatchKeyGuard past(DispatchKey::PythonKernel);
  EXPECT_THAT(errorOf([&] { x.exp(); }), HasSubstr("aten::exp"));
}

TEST_F(KernelClasses, MayDecline) {
  struct Declines final : Holder {
    using Holder::Holder;
    bool accepts(const OperatorHandle&, const Stack&) const override { return false; }
    std::string name() const override { return "Declines"; }
  };
  const Tensor x = make_class_tensor(std::make_shared<Declines>(a), {2, 3}, {}, 0, a.options());
  EXPECT_THAT(errorOf([&] { x.exp(); }), HasSubstr("no class of its arguments takes this call: Declines"));
  EXPECT_TRUE(Holder::inner(x + Holder::of(b)).equal(a + b));
}

TEST_F(KernelClasses, OnData) {
  struct Logs : KernelClass {
    void handle(const OperatorHandle& op, Stack* stack) override {
      calls().push_back(op.operator_name().name);
      for (IValue& v : *stack)
        v = mapTensors(v, [](const Tensor& t) { return kernel_class_of(t) != nullptr ? without_class(t) : t; });
      op.callBoxed(stack);
    }
    std::string name() const override { return "Logs"; }
  };
  const Tensor data = a.clone();
  const Tensor x = with_class(std::make_shared<Logs>(), data).requires_grad_();
  EXPECT_EQ(x.data_ptr<float>(), data.data_ptr<float>());
  const Tensor y = x * 2;
  EXPECT_EQ(kernel_class_of(y), nullptr);  // as the handler left it
  EXPECT_TRUE(y.equal(a * 2));
  EXPECT_THAT(calls(), ElementsAre("aten::mul"));
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(full({2, 3}, 2.)));
  const int64_t before = x._version();
  data.add_(1);
  EXPECT_EQ(x._version(), before + 1);
  EXPECT_TRUE(without_class(x).equal(a + 1));
  EXPECT_THAT(errorOf([&] { without_class(data); }), HasSubstr("without_class: the tensor isn't one"));
  EXPECT_THAT(errorOf([&] { with_class(std::make_shared<Logs>(), Holder::of(a)); }), HasSubstr("a KernelClass"));
}

TEST_F(KernelClasses, AreNotCompiled) {
  int runs = 0;
  const auto f = compile([&](const Tensor& t) { return ++runs, t.exp() * 2; });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Holder::inner(f(Holder::of(a))).equal(a.exp() * 2));
  EXPECT_EQ(runs, 5);
}

TEST_F(KernelClasses, LeaveNothingAlive) {
  weak_intrusive_ptr<TensorImpl> held;
  {
    const Tensor inner = a.clone();
    held = weak_intrusive_ptr<TensorImpl>(inner.getIntrusivePtr());
    const Tensor x = Holder::of(inner).requires_grad_();
    x.exp().sum().backward();
  }
  EXPECT_TRUE(held.expired());
}

TEST_F(KernelClasses, AreCheckedWhenMade) {
  const auto of = std::make_shared<Holder>(a);
  EXPECT_THAT(errorOf([&] { make_class_tensor(nullptr, {2}, {}, 0, kFloat); }), HasSubstr("the class is null"));
  EXPECT_THAT(errorOf([&] { make_class_tensor(of, {-2}, {}, 0, kFloat); }), HasSubstr("negative dimension"));
  EXPECT_THAT(errorOf([&] { make_class_tensor(of, {2, 3}, {1}, 0, kFloat); }), HasSubstr("1 strides for 2 sizes"));
  const Tensor t = make_class_tensor(of, {2, 3}, {1, 2}, 5, kDouble);
  EXPECT_EQ(t.strides(), IntArrayRef({1, 2}));
  EXPECT_EQ(t.storage_offset(), 5);
  EXPECT_EQ(t.dtype(), kDouble);
}

}  // namespace
}  // namespace shunt::test
