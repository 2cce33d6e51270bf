// autograd::Function: saved tensors, non-differentiable and dirty results, errors, double backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

namespace shunt::test {
namespace {

using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;
using testing::HasSubstr;

struct Scaled : Function<Scaled> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k, const Tensor& w) {
    EXPECT_FALSE(GradMode::is_enabled());
    ctx->saved_data["k"] = k;
    const Tensor y = x.mul(w).mul(k);
    ctx->save_for_backward({x, w, y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const double k = ctx->saved_data["k"].toDouble();
    EXPECT_TRUE(saved[2].defined());
    return {grads[0].mul(saved[1]).mul(k), Tensor(), grads[0].mul(saved[0]).mul(k)};
  }
};

TEST(CustomFunction, BackwardIsTheUsers) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = Scaled::apply(x, 10.0, w);
  EXPECT_THAT(y.grad_fn()->name(), HasSubstr("Scaled"));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{30, 40}));
  EXPECT_EQ(values(w.grad()), (Values{10, 20}));
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("second time"));
}

TEST(CustomFunction, CanBeDifferentiatedTwice) {
  const auto f = [](const variable_list& in) -> variable_list { return {Scaled::apply(in[0], 2.0, in[1])}; };
  const variable_list inputs{leaf({1, 2}), leaf({3, 4})};
  EXPECT_TRUE(autograd::gradcheck(f, inputs));
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

TEST(CustomFunction, WithoutGradRecordsNothing) {
  EXPECT_FALSE(Scaled::apply(tensorOf({1}), 1.0, tensorOf({1})).requires_grad());
  const Tensor x = leaf({1});
  NoGradGuard guard;
  EXPECT_FALSE(Scaled::apply(x, 1.0, x).requires_grad());
}

TEST(CustomFunction, DoesNotKeepItselfAlive) {
  const Tensor x = leaf({1});
  weak_intrusive_ptr<Node> node;
  {
    const Tensor y = Scaled::apply(x, 1.0, x);
    node = weak_intrusive_ptr<Node>(y.grad_fn());
  }
  EXPECT_TRUE(node.expired());
}

struct TwoOutputs : Function<TwoOutputs> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, bool materialize) {
    ctx->set_materialize_grads(materialize);
    const Tensor index = x.gt(0);
    ctx->mark_non_differentiable({index});
    return {x.mul(2), x.mul(3), index};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    EXPECT_EQ(grads.size(), 3u);
    if (!grads[1].defined()) return {grads[0].mul(1000), Tensor()};
    return {grads[0].mul(2).add(grads[1].mul(3)), Tensor()};
  }
};

TEST(CustomFunction, SeveralOutputsOneUnused) {
  Tensor x = leaf({1});
  variable_list y = TwoOutputs::apply(x, true);
  EXPECT_FALSE(y[2].requires_grad());
  y[0].sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2}));
  x = leaf({1});
  TwoOutputs::apply(x, false)[0].sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{1000}));
}

struct Doubled : Function<Doubled> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(2)}; }
};

TEST(CustomFunction, InPlace) {
  const Tensor x = leaf({1, 2});
  Tensor h = x.mul(3);
  const Tensor y = Doubled::apply(h);
  EXPECT_TRUE(y.is_same(h));
  y.sum().backward();
  EXPECT_EQ(values(y), (Values{6, 12}));
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

struct Same : Function<Same> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(-1)}; }
};

TEST(CustomFunction, MayReturnItsInput) {
  const Tensor x = leaf({1});
  const Tensor y = Same::apply(x);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_TRUE(y.is_alias_of(x));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{-1}));
}

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext*, const Tensor& x, double) { return x.mul(1); }
  static variable_list backward(AutogradContext*, variable_list grads) {
    if (values(grads[0])[0] == 1) return {grads[0]};
    return {grads[0], grads[0]};
  }
};

TEST(CustomFunction, WrongNumberOfGradients) {
  const Tensor x = leaf({1});
  EXPECT_THAT(errorOf([&] { Wrong::apply(x, 1.0).sum().backward(); }),
              HasSubstr("incorrect number of gradients (expected 2, got 1)"));
  EXPECT_THAT(errorOf([&] { Wrong::apply(x, 1.0).mul(2).sum().backward(); }), HasSubstr("was not a Variable"));
}

struct Nested : Function<Nested> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x.mul(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    EnableGradGuard enable;
    const Tensor v = ctx->get_saved_variables()[0].detach().requires_grad_();
    return {autograd::grad({v.mul(v)}, {v}, {grads[0]})[0]};
  }
};

TEST(CustomFunction, MayRunBackwardInside) {
  const Tensor x = leaf({3});
  Tensor y = x;
  for (int i = 0; i < 3; ++i) y = Nested::apply(y);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{8 * 2187}));
}

}  // namespace
}  // namespace shunt::test
