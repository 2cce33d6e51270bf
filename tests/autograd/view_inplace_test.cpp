// Views and in-place operators: which history a tensor has after its data changed under it, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

namespace shunt::test {
namespace {

using testing::HasSubstr;

TEST(Inplace, RecordsLikeTheFunctionalForm) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  y.mul_(3);
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward1");
  EXPECT_EQ(y._version(), 1);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{3, 3}));
}

TEST(Inplace, OnATensorWithoutGradMakesItRequireGrad) {
  const Tensor w = leaf({2, 3});
  Tensor y = tensorOf({5, 7});
  y.mul_(w);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_EQ(values(w.grad()), (Values{5, 7}));
}

TEST(Inplace, WithASavedResult) {
  const Tensor x = leaf({0.5});
  Tensor y = x.mul(1);
  y.sigmoid_();
  y.sum().backward();
  const double s = 1 / (1 + std::exp(-0.5));
  EXPECT_NEAR(values(x.grad())[0], s * (1 - s), 1e-12);
}

TEST(Inplace, ThatDestroysItsOwnInputFailsInBackward) {
  const Tensor x = leaf({2});
  Tensor y = x.mul(1);
  y.mul_(y);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("has been modified by an inplace operation"));
  y.detach_();  // the node saved y, whose history it is: a cycle, as in PyTorch
}

TEST(Inplace, WithAnOperandThatIsItselfOrItsViewKeepsNoCycle) {
  const Tensor x = leaf({2, 3});
  weak_intrusive_ptr<Node> same, view, base;
  {
    Tensor y = x.mul(1), z = x.mul(1), w = x.mul(1);
    y.mul_(y);
    same = weak_intrusive_ptr<Node>(y.grad_fn());
    z.mul_(z.view({2}));
    view = weak_intrusive_ptr<Node>(z.grad_fn());
    w.select(0, 0).mul_(w.select(0, 1));
    base = weak_intrusive_ptr<Node>(w.grad_fn());
    EXPECT_THAT(errorOf([&] { z.sum().backward(); }), HasSubstr("has been modified by an inplace operation"));
  }
  EXPECT_TRUE(same.expired());
  EXPECT_TRUE(view.expired());
  EXPECT_TRUE(base.expired());
}

TEST(Inplace, ComparisonsAndLogicKeepNothingOfTheirOperands) {
  const Tensor x = leaf({2, 0});
  Tensor y = x.mul(1), z = x.mul(1);
  y.lt_(y);
  z.logical_xor_(z);
  y.add(z).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{0, 0}));
}

TEST(Inplace, DetachForgetsTheHistoryWithoutGradModeToo) {
  const Tensor x = leaf({2});
  Tensor y = x.mul(2);
  {
    NoGradGuard off;
    y.detach_();
  }
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
}

TEST(View, OneOfSeveralMayBeChangedWhereNothingIsRecorded) {
  const Tensor x = leaf({1, 2});
  const Tensor base = x.mul(1);
  Tensor part = base.unbind()[1];
  EXPECT_THAT(errorOf([&] { part.add_(1); }), HasSubstr("UnbindBackward0"));
  {
    NoGradGuard off;
    part.add_(1);
  }
  EXPECT_EQ(values(base), (Values{1, 3}));
  Tensor plain = tensorOf({1, 2});
  plain.split(1)[0].add_(5);
  EXPECT_EQ(values(plain), (Values{6, 2}));
}

TEST(View, MadeWithoutGradModeBelongsToNoGraphAfterAChange) {
  const Tensor x = leaf({1, 2}), y = x.mul(2);
  Tensor view, detached;
  {
    NoGradGuard off;
    view = y.view({2, 1});
    detached = y.detach();
    view.add_(1);
    view.add_(1);
  }
  EXPECT_EQ(values(y), (Values{4, 6}));
  EXPECT_THAT(errorOf([&] { view.sigmoid(); }), HasSubstr("A view was created in no_grad mode and its base"));
  EXPECT_FALSE(detached.sigmoid().requires_grad());
  y.view({2, 1}).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
}

TEST(Inplace, CopyingIntoWholeNumbersRecordsNothing) {
  const Tensor x = leaf({1.5, 2.5});
  for (const ScalarType dtype : {kInt, kLong, kBool}) {
    Tensor whole = zeros({2}, TensorOptions(dtype));
    whole.copy_(x);
    EXPECT_FALSE(whole.requires_grad()) << dtype;
    EXPECT_TRUE(whole.is_leaf()) << dtype;
  }
}

TEST(Inplace, IsRefusedOnLeavesAndTheirViews) {
  Tensor x = leaf({1, 2});
  EXPECT_THAT(errorOf([&] { x.add_(1); }),
              HasSubstr("a leaf Variable that requires grad is being used in an in-place operation."));
  Tensor v = x.view({2, 1});
  EXPECT_THAT(errorOf([&] { v.add_(1); }),
              HasSubstr("a view of a leaf Variable that requires grad is being used in an in-place operation."));
  EXPECT_EQ(values(x), (Values{1, 2}));
  EXPECT_EQ(x._version(), 0);
  NoGradGuard guard;
  x.add_(1);
  EXPECT_EQ(values(x), (Values{2, 3}));
  EXPECT_EQ(x._version(), 1);
}

TEST(View, KnowsItsBaseAndSharesItsVersion) {
  const Tensor x = tensorOf({1, 2, 3, 4});
  const Tensor v = x.view({2, 2}), w = v.select(0, 1);
  EXPECT_TRUE(w.is_view());
  EXPECT_TRUE(w._base().is_same(x));
  EXPECT_FALSE(x.is_view());
  Tensor u = w;
  u.add_(1);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(v._version(), 1);
  EXPECT_EQ(values(x), (Values{1, 2, 4, 5}));
  EXPECT_THAT(errorOf([&] { x._base(); }), HasSubstr("Can't get base of non-view tensor"));
}

TEST(View, InPlaceOnAViewChangesTheBasesHistory) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor base = x.mul(1);
  Tensor part = base.slice(0, 1, 3);
  part.mul_(10);
  EXPECT_EQ(base.grad_fn()->name(), "CopySlices");
  EXPECT_EQ(part.grad_fn()->name(), "AsStridedBackward0");
  base.mul(tensorOf({1, 2, 3, 4})).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{1, 20, 30, 4}));
}

TEST(View, InPlaceOnTheBaseChangesItsViewsHistory) {
  const Tensor x = leaf({1, 2, 3, 4}), w = leaf({2, 2, 2, 2});
  Tensor base = x.mul(1);
  const Tensor part = base.view({2, 2}).select(1, 0);
  base.mul_(w);
  part.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 0, 2, 0}));
  EXPECT_EQ(values(w.grad()), (Values{1, 0, 3, 0}));
}

TEST(View, OfATensorThatStartsToRequireGradFollows) {
  const Tensor w = leaf({3, 4});
  Tensor base = tensorOf({1, 2});
  const Tensor v = base.view({2, 1});
  EXPECT_FALSE(v.requires_grad());
  base.mul_(w);
  EXPECT_TRUE(v.requires_grad());
  v.sum().backward();
  EXPECT_EQ(values(w.grad()), (Values{1, 2}));
}

TEST(View, InPlaceThroughAViewOfATensorWithoutGrad) {
  const Tensor w = leaf({3});
  const Tensor base = zeros({3}, kDouble);
  base.select(0, 1).copy_(w.select(0, 0));
  EXPECT_TRUE(base.requires_grad());
  base.mul(tensorOf({1, 5, 1})).sum().backward();
  EXPECT_EQ(values(w.grad()), (Values{5}));
}

TEST(View, ChainsOfInPlaceOperatorsOnSeveralViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor base = x.mul(1);
  Tensor front = base.slice(0, 0, 2), back = base.slice(0, 2, 4), middle = base.slice(0, 1, 3);
  front.mul_(2);
  back.mul_(3);
  middle.mul_(5);
  base.sum().backward();
  EXPECT_EQ(values(base), (Values{2, 20, 45, 12}));
  EXPECT_EQ(values(x.grad()), (Values{2, 10, 15, 3}));
}

TEST(View, CopySlicesCanBeDifferentiatedTwice) {
  const Tensor x = leaf({2, 3});
  const auto f = [](const autograd::variable_list& in) -> autograd::variable_list {
    const Tensor base = in[0].mul(in[0]);
    base.slice(0, 0, 1).mul_(in[0].slice(0, 1, 2));
    return {base};
  };
  EXPECT_TRUE(autograd::gradcheck(f, {x}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {x}));
}

TEST(View, ASavedResultOnADroppedViewCanBeDifferentiatedTwice) {
  const Tensor x = leaf({0.2, 0.3, 0.4});
  const auto f = [](const autograd::variable_list& in) -> autograd::variable_list {
    const Tensor base = in[0].mul(in[0]);
    base.slice(0, 0, 2).sigmoid_();
    return {base};
  };
  EXPECT_TRUE(autograd::gradcheck(f, {x}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {x}));
}

TEST(View, TransposedInPlaceLeavesItsBaseAlone) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor base = x.mul(1);
  Tensor v = base.view({2, 2});
  v.t_();
  EXPECT_EQ(base.grad_fn()->name(), "MulBackward1");
  v.mul(tensorOf({1, 10, 100, 1000}).view({2, 2})).sum().backward({}, true);
  EXPECT_EQ(values(x.grad()), (Values{1, 100, 10, 1000}));
  base.mul(tensorOf({1, 2, 3, 4})).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 102, 13, 1004}));
}

TEST(View, OfExpandedTensorsGetSummedGradients) {
  const Tensor x = leaf({1, 2});
  Tensor base = x.mul(1);
  const Tensor wide = base.view({2, 1}).expand({2, 3});
  base.mul_(2);
  EXPECT_EQ(wide.grad_fn()->name(), "AsStridedBackward0");
  wide.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

TEST(View, MadeUnderNoGrad) {
  Tensor x = leaf({1, 2});
  Tensor base = x.mul(1), v;
  {
    NoGradGuard guard;
    v = base.view({2, 1});
    EXPECT_FALSE(v.grad_fn());
    EXPECT_TRUE(v.requires_grad());
  }
  EXPECT_THAT(errorOf([&] { v.add_(1); }), HasSubstr("created in no_grad mode"));
  EXPECT_EQ(values(base), (Values{1, 2}));
}

TEST(View, OfSeveralTogetherIsReadOnly) {
  const Tensor base = leaf({1, 2, 3}).mul(1);
  std::vector<Tensor> views{autograd::detached_alias(base), autograd::detached_alias(base)};
  views = autograd::as_view(base, std::move(views), true);
  EXPECT_THAT(errorOf([&] { views[1].add_(1); }), HasSubstr("function that returns multiple views"));
}

TEST(Detach, SharesDataAndVersionButNoHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x.mul(2);
  Tensor d = y.detach();
  EXPECT_FALSE(d.requires_grad());
  EXPECT_FALSE(d.is_view());
  EXPECT_FALSE(d.key_set().has(DispatchKey::AutogradCPU));
  d.add_(1);
  EXPECT_EQ(y._version(), 1);
  EXPECT_EQ(values(y), (Values{3, 5}));
}

TEST(Data, SharesDataOnly) {
  const Tensor x = leaf({1, 2});
  const Tensor loss = x.mul(x).sum();
  Tensor d = x.data();
  d.add_(1);
  EXPECT_EQ(x._version(), 0);
  EXPECT_EQ(d._version(), 1);
  EXPECT_EQ(values(x), (Values{2, 3}));
  loss.backward();  // as in PyTorch: nothing notices
  EXPECT_EQ(values(x.grad()), (Values{4, 6}));
}

TEST(Data, SetDataKeepsTheLeaf) {
  const Tensor x = leaf({1, 2});
  x.set_data(tensorOf({5, 6, 7}));
  EXPECT_TRUE(x.requires_grad());
  x.mul(x).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{10, 12, 14}));
  EXPECT_THAT(errorOf([&] { x.set_data(ones({2}, kLong)); }), HasSubstr("must be floating point"));
}

TEST(DetachInPlace, MakesALeaf) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.mul(2);
  y.detach_();
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
  Tensor v = x.mul(2).view({2, 1});
  EXPECT_THAT(errorOf([&] { v.detach_(); }), HasSubstr("Can't detach views in-place"));
}

// A state that goes from step to step begins without a history, and is detached like the later ones.
TEST(DetachInPlace, IsNoWrite) {
  const Tensor w = leaf({1, 2});
  Tensor state = tensorOf({3, 4});
  const Tensor loss = state.mul(w).sum();
  state.detach_();
  {
    const NoGradGuard no_grad;
    state.detach_();
  }
  EXPECT_EQ(state._version(), 0);
  loss.backward();
  EXPECT_EQ(values(w.grad()), (Values{3, 4}));
  auto fast = compile([&](const Tensor& x) {
    Tensor y = x.mul(w);
    y.detach_();
    return y;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fast(state)._version(), 0);
  EXPECT_EQ(fast.counts().hits, 2u);
}

TEST(Resize, IsRefusedWhereGradientsFlow) {
  Tensor x = leaf({1, 2});
  EXPECT_THAT(errorOf([&] { x.resize_({4}); }), HasSubstr("cannot resize variables that require grad"));
}

TEST(Inference, TensorsAreReadOnlyOutside) {
  Tensor t;
  {
    InferenceMode mode;
    t = ones({2}, kDouble);
    t.add_(1);
    EXPECT_EQ(values(t), (Values{2, 2}));
  }
  EXPECT_TRUE(t.is_inference());
  EXPECT_THAT(errorOf([&] { t.add_(1); }),
              HasSubstr("Inplace update to inference tensor outside InferenceMode is not allowed"));
  EXPECT_EQ(values(t), (Values{2, 2}));
  EXPECT_THAT(errorOf([&] { t._version(); }), HasSubstr("do not track version counter"));
  const Tensor x = leaf({1, 2});
  EXPECT_THAT(errorOf([&] { x.mul(t); }), HasSubstr("Inference tensors cannot be saved for backward"));
  EXPECT_THAT(errorOf([&] { t.requires_grad_(); }), HasSubstr("inference tensor outside InferenceMode"));
}

TEST(Inference, InPlaceOnANormalTensorStillBumpsItsVersion) {
  const Tensor x = tensorOf({1});
  InferenceMode mode;
  Tensor y = x;
  y.add_(1);
  EXPECT_EQ(x._version(), 1);
}

TEST(SetData, ToTheSameStorageKeepsCountingWithViews) {
  const Tensor x = tensorOf({1, 2}), view = x.view({2, 1});
  x.set_data(x.data());
  view.add_(1);
  EXPECT_EQ(x._version(), 1);
  view.set_data(view);
  view.add_(1);
  EXPECT_EQ(x._version(), 2);
}

TEST(OutForms, HaveNoDerivative) {
  const Tensor x = leaf({1, 2});
  Tensor out = empty({2}, kDouble);
  EXPECT_THAT(errorOf([&] { add_out(out, x, x); }),
              HasSubstr("functions with out=... arguments don't support automatic differentiation"));
}

}  // namespace
}  // namespace shunt::test
