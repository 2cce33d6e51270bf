// Functional tensors whose values are wrapper tensors of a class of the user's own.
#include "tests/functionalize/util.h"
#include "tests/support/wrapper.h"

#include <shunt/interpose/tensor_subclass.h>

namespace shunt::test {
namespace {

using List = std::vector<Tensor>;

/// Holds twice the numbers that it shows, as float64, so that nothing inside looks like it.
struct Doubled : TensorSubclass {
  explicit Doubled(const Tensor& shown)
      : TensorSubclass(shown.sizes(), shown.options()), held(shown.to(kDouble).flatten().mul(2)) {}
  void handle(const OperatorHandle& op, Stack* stack) override {
    EXPECT_FALSE(op.schema().is_mutable()) << op.operator_name();
    for (IValue& v : *stack) v = mapTensors(v, [](const Tensor& t) { return shown(t); });
    op.callBoxed(stack);
    for (IValue& v : *stack)
      v = mapTensors(v, [](const Tensor& t) { return t.dtype() == kFloat ? wrap<Doubled>(t) : t; });
  }
  static Tensor shown(const Tensor& t) {
    const auto* d = wrapper_cast<Doubled>(t);
    return d == nullptr ? t : d->held.div(2).to(kFloat).view(d->sizes());
  }
  Tensor held;
};

/// The program on plain tensors and on functional wrappers; gradients of the inputs besides.
template <class F>
void expectSameOfWrappers(const List& inputs, F f) {
  List plain, inner, functional;
  for (const Tensor& t : inputs) {
    plain.push_back(t.detach().clone().requires_grad_(t.requires_grad()));
    inner.push_back(t.detach().clone().requires_grad_(t.requires_grad()));
    functional.push_back(to_functional(wrap<Wrapper>(inner.back())));
  }
  const List expected = f(plain);
  const FunctionalizeCheckGuard check;
  const List got = f(functional);
  EXPECT_GT(check.calls(), 0);
  const auto bare = [](const Tensor& t) {
    EXPECT_TRUE(is_functional(t));
    EXPECT_NE(wrapper_cast<Wrapper>(from_functional(t)), nullptr);
    return unwrap<Wrapper>(from_functional(t));
  };
  const auto expectSame = [&](const List& a, const List& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(identical(a[i], bare(b[i]))) << i << '\n' << a[i] << '\n' << bare(b[i]);
      EXPECT_EQ(a[i].strides(), b[i].strides()) << i;
    }
  };
  expectSame(expected, got);
  expectSame(plain, functional);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].requires_grad(), functional[i].requires_grad());
    EXPECT_TRUE(identical(plain[i].grad(), inner[i].grad())) << i;
  }
}

TEST(FunctionalizeSubclass, InPlace) {
  expectSameOfWrappers({iota({2, 3}), iota({3})}, [](const List& in) {
    in[0].add_(in[1]).mul_(2);
    in[0].copy_(in[1]);
    in[0].masked_fill_(in[0].gt(1), 7);
    return List{in[0] + 1};
  });
}

TEST(FunctionalizeSubclass, Views) {
  expectSameOfWrappers({iota({2, 3})}, [](const List& in) {
    const Tensor row = in[0][1], flat = in[0].view({6}), t = in[0].t();
    row.mul_(2);
    t.select(0, 1).add_(10);
    flat.slice(0, 4).zero_();
    in[0].expand({2, 2, 3})[1].sub_(1);
    Tensor x = in[0].clone();
    const Tensor alias = x.view({6});
    x.unsqueeze_(0).squeeze_().t_();
    x[0].add_(10);
    return List{row.clone(), flat.clone(), x.clone(), alias.clone()};
  });
}

TEST(FunctionalizeSubclass, OutArguments) {
  expectSameOfWrappers({iota({3}), iota({3, 2})}, [](const List& in) {
    Tensor column = in[1].select(1, 0), fresh = in[0].slice(0, 0, 0).clone(), self = in[0];
    add_out(column, in[0], in[0]);
    add_out(fresh, in[0], in[0]);
    add_out(self, in[0], in[0]);
    fresh.resize_({5}).slice(0, 3).fill_(4);
    return List{fresh, column.clone()};
  });
}

TEST(FunctionalizeSubclass, Gradients) {
  expectSameOfWrappers({iota({2, 3}).requires_grad_(), iota({3})}, [](const List& in) {
    {
      const Tensor y = in[0].mul(2);
      y[0].mul_(in[1]);
      y.mul(y).sum().backward();
    }
    in[0].mutable_grad() = Tensor();
    {
      const NoGradGuard no_grad;
      in[0].add_(1);
      in[0][1].mul_(3);
      Tensor x = in[0];
      x.t_();
    }
    const Tensor z = in[0].mul(in[0]);
    {
      const NoGradGuard no_grad;
      z.mul_(2);  // history stays
    }
    z.mul(z).sum().backward();
    return List{};
  });
}

TEST(FunctionalizeSubclass, ErrorsAreThePlainOnes) {
  const auto of = [](const Tensor& t) { return to_functional(wrap<Wrapper>(t)); };
  EXPECT_THAT(errorOf([&] { of(iota({3})).add_(of(ones({2}))); }), testing::HasSubstr("must match the size of tensor"));
  EXPECT_THAT(errorOf([&] { of(iota({3}).requires_grad_()).add_(1); }),
              testing::HasSubstr("leaf Variable that requires grad"));
  EXPECT_THAT(errorOf([&] { of(iota({3}).requires_grad_())[0].add_(1); }),
              testing::HasSubstr("a view of a leaf Variable"));
  EXPECT_THAT(errorOf([&] { of(iota({1, 3})).expand({2, 3}).add_(1); }), testing::HasSubstr("single memory location"));
}

TEST(FunctionalizeSubclass, AsAnArgument) {
  const auto program = [](const Tensor& x) {
    x.t().mul_(2);
    Tensor alias = x.view({6});
    add_out(alias, alias, alias);
    return std::tuple(x.sum(), alias);
  };
  const Tensor plain = iota({2, 3}), inner = iota({2, 3}), wrapped = wrap<Wrapper>(inner);
  const auto [sum, alias] = program(plain);
  const auto [got_sum, got_alias] = functionalize(program)(wrapped);
  EXPECT_TRUE(identical(plain, inner));
  EXPECT_TRUE(identical(sum, unwrap<Wrapper>(got_sum)));
  EXPECT_TRUE(unwrap<Wrapper>(got_alias).is_alias_of(inner));
  EXPECT_TRUE(identical(alias, unwrap<Wrapper>(got_alias)));
}

// expand_as gives a wrapper, since its other operand is one, of an alias of the plain tensor.
TEST(FunctionalizeSubclass, BesidePlainTensors) {
  const Tensor plain = to_functional(iota({1, 3}).clone()), wrapped = to_functional(wrap<Wrapper>(ones({1, 3})));
  plain.expand_as(wrapped).add_(1);
  EXPECT_TRUE(identical(unwrap<Wrapper>(from_functional(plain)), iota({1, 3}).add(1)));
}

// A class that has no in-place operators of its own gets them.
TEST(FunctionalizeSubclass, ThatHoldsSomethingElse) {
  const Tensor x = to_functional(wrap<Doubled>(iota({2, 3})));
  x.add_(1);
  Tensor out = x;
  mul_out(out, x, x);
  EXPECT_TRUE(identical(Doubled::shown(from_functional(x)), iota({2, 3}).add(1).square()));
  EXPECT_THAT(errorOf([&] { x.add_(ones({5})); }), testing::HasSubstr("must match the size of tensor"));
}

}  // namespace
}  // namespace shunt::test
