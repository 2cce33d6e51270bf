// Custom functions that return their arguments or views of them, or change arguments in place: what autograd makes of
// the results. The values are libtorch 1.13's (tests/parity/written compares many more cases).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <thread>
#include <utility>

namespace shunt::test {
namespace {

using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;
using testing::AllOf;
using testing::HasSubstr;

struct Same : Function<Same> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(3)}; }
};

struct Viewed : Function<Viewed> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x.view({2, 1}); }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].view({2}).mul(3)}; }
};

template <class F>
class ReturnedView : public testing::Test {};
using Functions = testing::Types<Same, Viewed>;
TYPED_TEST_SUITE(ReturnedView, Functions);

TYPED_TEST(ReturnedView, IsAViewWithTheFunctionsHistory) {
  const Tensor x = leaf({1, 2}), h = x.mul(2), y = TypeParam::apply(h);
  EXPECT_TRUE(y.is_view());
  EXPECT_TRUE(y._base().is_same(h));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

TYPED_TEST(ReturnedView, RefusesToBeChanged) {
  const Tensor x = leaf({1, 2}), h = x.mul(2);
  Tensor y = TypeParam::apply(h);
  EXPECT_THAT(errorOf([&] { y.mul_(4); }),
              AllOf(HasSubstr("Output 0 of CppNode"), HasSubstr("created inside a custom Function")));
  EXPECT_EQ(values(h), (Values{2, 4}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

TYPED_TEST(ReturnedView, RefusesToBeUsedAfterItsArgumentChanged) {
  const Tensor x = leaf({1, 2});
  Tensor h = x.mul(2);
  const Tensor y = TypeParam::apply(h);
  h.mul_(4);
  EXPECT_EQ(values(y), (Values{8, 16}));
  EXPECT_THAT(errorOf([&] { y.sum(); }),
              AllOf(HasSubstr("its base or another view of its base"), HasSubstr("created inside a custom Function")));
  EXPECT_FALSE(y.is_leaf());
  h.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{8, 8}));
}

TYPED_TEST(ReturnedView, RefusesToBeUsedAfterAChangeThatWasNotRecorded) {
  const Tensor x = leaf({1, 2}), h = x.mul(2);
  Tensor y = TypeParam::apply(h);
  {
    NoGradGuard off;
    y.mul_(4);
  }
  EXPECT_EQ(h._version(), 1);
  EXPECT_THAT(errorOf([&] { y.sum(); }), HasSubstr("created inside a custom Function"));
}

TYPED_TEST(ReturnedView, OfAViewBelongsToTheSameBase) {
  const Tensor x = leaf({1, 2}), h = x.mul(2);
  Tensor v = h.view({1, 2}).view({2});
  const Tensor y = TypeParam::apply(v);
  EXPECT_TRUE(y._base().is_same(h));
  v.mul_(4);
  EXPECT_THAT(errorOf([&] { y.sum(); }), HasSubstr("created inside a custom Function"));
  v.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{8, 8}));
}

TYPED_TEST(ReturnedView, MadeInNoGradModeIsRefusedToo) {
  const Tensor x = leaf({1, 2}), h = x.mul(2);
  Tensor y;
  {
    NoGradGuard off;
    y = TypeParam::apply(h);
  }
  EXPECT_FALSE(y.grad_fn());
  if (y.is_view())
    EXPECT_THAT(errorOf([&] { y.mul_(4); }), HasSubstr("created inside a custom Function"));
  else
    EXPECT_FALSE(y.requires_grad());
}

struct SameAndFresh : Function<SameAndFresh> {
  static variable_list forward(AutogradContext*, const Tensor& x) { return {x, x.mul(2)}; }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return {grads[0].mul(3).add(grads[1].mul(5))};
  }
};

TEST(CustomFunctionViews, AmongSeveralOutputsAreViewsOfSeveral) {
  const Tensor h = leaf({1, 2}).mul(2);
  variable_list y = SameAndFresh::apply(h);
  EXPECT_THAT(errorOf([&] { y[0].mul_(4); }), HasSubstr("multiple views"));
  y[1].mul_(4);
}

// Returns a tensor that is not among its arguments.
Tensor elsewhere;
struct Captured : Function<Captured> {
  static Tensor forward(AutogradContext*, const Tensor&) { return elsewhere; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(3)}; }
};

TEST(CustomFunctionViews, ATensorFromElsewhereKeepsItsHistory) {
  const Tensor x = leaf({1, 2}), w = leaf({5, 6});
  elsewhere = w;
  Tensor y = Captured::apply(x);
  elsewhere = {};
  EXPECT_TRUE(w.is_leaf());
  EXPECT_THAT(errorOf([&] { y.mul_(2); }), HasSubstr("created inside a custom Function"));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{3, 3}));
  EXPECT_FALSE(w.grad().defined());
}

// Its node has a higher number than the function's, as nodes that forward makes have.
TEST(CustomFunctionViews, ATensorFromAnotherThreadKeepsItsHistory) {
  const Tensor x = leaf({1, 2}), w = leaf({5, 6});
  std::thread([&w] {
    for (int i = 0; i < 10000; ++i) w.mul(1);
    elsewhere = w.mul(7);
  }).join();
  const Tensor h = elsewhere;
  const intrusive_ptr<Node> history = h.grad_fn();
  Tensor y = Captured::apply(x);
  elsewhere = {};
  EXPECT_EQ(h.grad_fn(), history);
  EXPECT_THAT(errorOf([&] { y.mul_(2); }), HasSubstr("created inside a custom Function"));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{3, 3}));
  EXPECT_FALSE(w.grad().defined());
  h.sum().backward();
  EXPECT_EQ(values(w.grad()), (Values{7, 7}));
}

template <bool keep>
struct Recording : Function<Recording<keep>> {
  static Tensor forward(AutogradContext*, const Tensor& x) {
    EnableGradGuard enable;
    Tensor y = x.mul(2);
    if (keep) elsewhere = y;
    return y;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(3)}; }
};

// As in libtorch, where the history that forward recorded is replaced.
TEST(CustomFunctionViews, WhatForwardRecordedIsNoView) {
  const Tensor x = leaf({1, 2});
  Tensor y = Recording<false>::apply(x);
  EXPECT_FALSE(y.is_view());
  y.mul_(5);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{15, 15}));
}

TEST(CustomFunctionViews, WhatForwardRecordedAndKeepsHasItsHistory) {
  const Tensor x = leaf({1, 2}), y = Recording<true>::apply(x), kept = std::exchange(elsewhere, Tensor());
  EXPECT_TRUE(y._base().is_same(kept));
  kept.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{5, 5}));
}

// ---- mark_dirty
struct Doubled : Function<Doubled> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(2)}; }
};

TEST(MarkDirty, CountsAsAChange) {
  struct Unchanged : Function<Unchanged> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x) {
      ctx->mark_dirty({x});
      return x;
    }
    static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(3)}; }
  };
  const Tensor x = leaf({1, 2}), h = x.mul(1), squares = h.mul(h);
  Unchanged::apply(h);
  EXPECT_EQ(h._version(), 1);
  EXPECT_THAT(errorOf([&] { squares.sum().backward(); }), HasSubstr("modified by an inplace operation"));
  const Tensor plain = tensorOf({1});
  Unchanged::apply(plain);
  EXPECT_EQ(plain._version(), 1);
}

TEST(MarkDirty, ReturnsADetachedAliasWhereNothingIsRecorded) {
  const Tensor x = leaf({1, 2});
  NoGradGuard off;
  const Tensor y = Doubled::apply(x);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(values(x), (Values{2, 4}));
  EXPECT_EQ(y._version(), x._version());
}

TEST(MarkDirty, OnAViewChangesTheBasesHistory) {
  const Tensor x = leaf({1, 2}), h = x.mul(10), v = h.slice(0, 1, 2);
  const Tensor y = Doubled::apply(v);
  EXPECT_TRUE(y.is_same(v));
  h.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{10, 20}));
}

TEST(MarkDirty, WantsWhatItNamesReturned) {
  struct Kept : Function<Kept> {
    static Tensor forward(AutogradContext* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      return x.mul(1);
    }
    static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0]}; }
  };
  const Tensor h = leaf({1, 2}).mul(2);
  EXPECT_THAT(errorOf([&] { Kept::apply(h); }),
              AllOf(HasSubstr("mark_dirty"), HasSubstr("[2]"), HasSubstr("not returned as output")));
}

TEST(MarkDirty, RefusesAViewBesideOtherOutputs) {
  struct Both : Function<Both> {
    static variable_list forward(AutogradContext* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      return {x, x.mul(2)};
    }
    static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0]}; }
  };
  const Tensor h = leaf({1, 2}).mul(2);
  EXPECT_THAT(errorOf([&] { Both::apply(h.view({2})); }), HasSubstr("cannot return more than one Tensor"));
  EXPECT_EQ(Both::apply(h).size(), 2u);
}

TEST(MarkDirty, RefusesAViewBehindAnotherTensor) {
  struct Second : Function<Second> {
    static Tensor forward(AutogradContext* ctx, const Tensor& w, Tensor x) {
      x.mul_(w);
      ctx->mark_dirty({x});
      return x;
    }
    static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].mul(7), grads[0].mul(2)}; }
  };
  const Tensor x = leaf({1, 2}), w = leaf({3, 3}), h = x.mul(2), plain = x.mul(2);
  EXPECT_THAT(errorOf([&] { Second::apply(w, h.view({2})); }),
              HasSubstr("not the first tensor among forward's arguments"));
  Second::apply(w, plain).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{4, 4}));
  EXPECT_EQ(values(w.grad()), (Values{7, 7}));
}

// ---- mark_non_differentiable
template <bool materialize>
struct Marked : Function<Marked<materialize>> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(materialize);
    const Tensor index = x.gt(0), second = x.view({2, 1}).mul(5);
    ctx->mark_non_differentiable({index, second});
    return {x.mul(2), index, second};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    EXPECT_EQ(grads[1].defined(), materialize);
    EXPECT_EQ(grads[2].defined(), materialize);
    if (materialize) {
      EXPECT_EQ(grads[1].scalar_type(), kBool);
      EXPECT_EQ(values(grads[1]), (Values{0, 0}));
      EXPECT_EQ(grads[2].sizes(), (IntArrayRef{2, 1}));
      EXPECT_EQ(values(grads[2]), (Values{0, 0}));
    }
    return {grads[0].mul(2)};
  }
};

TEST(MarkNonDifferentiable, GivesZerosUnlessTheyAreOff) {
  const Tensor x = leaf({1, 2});
  const variable_list y = Marked<true>::apply(x);
  EXPECT_FALSE(y[2].requires_grad());
  y[0].sum().backward();
  Marked<false>::apply(x)[0].sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{4, 4}));
}

}  // namespace
}  // namespace shunt::test
