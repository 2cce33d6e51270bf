// Hooks of tensors and nodes: what they see, replace and outlive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

namespace shunt::test {
namespace {

using autograd::variable_list;
using testing::HasSubstr;

TEST(TensorHook, SeesAndReplacesTheGradientOfAnInnerTensor) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x.mul(2);
  Values seen;
  h.register_hook([&](const Tensor& g) {
    seen = values(g);
    return g.mul(10);
  });
  h.mul(3).sum().backward();
  EXPECT_EQ(seen, (Values{3, 3}));
  EXPECT_EQ(values(x.grad()), (Values{60, 60}));
}

TEST(TensorHook, OnALeafRunsBeforeAccumulation) {
  const Tensor x = leaf({1});
  int calls = 0;
  const unsigned id = x.register_hook([&](const Tensor& g) {
    ++calls;
    return g.mul(-1);
  });
  x.mul(5).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{-5}));
  x.remove_hook(id);
  x.mul(5).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{0}));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(errorOf([&] { x.remove_hook(7); }), HasSubstr("no hook at position 7"));
}

TEST(TensorHook, RunInOrderAndMayReturnNothing) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(1);
  std::string order;
  h.register_hook([&](const Tensor&) {
    order += "a";
    return Tensor();
  });
  h.register_hook([&](const Tensor& g) {
    order += "b";
    return g.add(1);
  });
  h.sum().backward();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(values(x.grad()), (Values{2}));
  EXPECT_THAT(errorOf([] { tensorOf({1}).register_hook([](const Tensor& g) { return g; }); }),
              HasSubstr("cannot register a hook on a tensor that doesn't require gradient"));
}

TEST(TensorHook, AddedInsideAHookRunsToo) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(1);
  int inner = 0;
  h.register_hook([&](const Tensor&) {
    if (inner == 0)
      h.register_hook([&](const Tensor&) {
        ++inner;
        return Tensor();
      });
    return Tensor();
  });
  h.sum().backward({}, true);
  EXPECT_EQ(inner, 1);
}

TEST(NodeHook, PreAndPost) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(2);
  h.grad_fn()->add_pre_hook([](const variable_list& g) { return variable_list{g[0].mul(3)}; });
  h.grad_fn()->add_post_hook([](const variable_list& outputs, const variable_list& inputs) {
    EXPECT_EQ(values(inputs[0]), (Values{3}));
    variable_list result = outputs;
    result[0] = outputs[0].add(100);
    return result;
  });
  h.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{106}));
}

TEST(NodeHook, MayRunBackward) {
  const Tensor x = leaf({1}), w = leaf({2});
  const Tensor h = x.mul(2);
  h.register_hook([&](const Tensor&) {
    EnableGradGuard enable;
    w.mul(w).sum().backward();
    return Tensor();
  });
  h.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2}));
  EXPECT_EQ(values(w.grad()), (Values{4}));
}

TEST(RetainGrad, KeepsAnInnerGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x.mul(2);
  h.retain_grad();
  h.retain_grad();
  const Tensor y = h.mul(h).sum();
  y.backward({}, true);
  EXPECT_EQ(values(h.grad()), (Values{4, 8}));
  y.backward();
  EXPECT_EQ(values(h.grad()), (Values{8, 16}));
  EXPECT_THAT(errorOf([] { tensorOf({1}).retain_grad(); }),
              HasSubstr("can't retain_grad on Tensor that has requires_grad=False"));
}

TEST(RetainGrad, FollowsAnInPlaceOperator) {
  const Tensor x = leaf({1, 2});
  Tensor h = x.mul(2);
  h.retain_grad();
  h.mul_(3);
  h.sum().backward();
  EXPECT_EQ(values(h.grad()), (Values{1, 1}));
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

TEST(RetainGrad, IsOneOfTheHooksInTheirOrder) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(10);
  const auto tenfold = [](const Tensor& g) { return g.mul(10); };
  EXPECT_EQ(h.register_hook(tenfold), 0u);
  h.retain_grad();
  EXPECT_EQ(h.register_hook(tenfold), 2u);
  h.sum().backward();
  EXPECT_EQ(values(h.grad()), (Values{10}));
  EXPECT_EQ(values(x.grad()), (Values{1000}));
}

TEST(TensorHook, MustKeepTheDtype) {
  for (const ScalarType dtype : {kFloat, kLong}) {
    const Tensor x = leaf({1}), h = x.mul(2);
    h.register_hook([dtype](const Tensor& g) { return g.to(dtype); });
    EXPECT_THAT(errorOf([&] { h.sum().backward(); }),
                HasSubstr("the hook 0 of a tensor (register_hook) has changed the type of the gradient"));
    x.register_hook([dtype](const Tensor& g) { return g.to(dtype); });
    EXPECT_THAT(errorOf([&] { x.mul(2).sum().backward(); }), HasSubstr("it was given Double on cpu and returned "));
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST(RetainGrad, DoesNotKeepTheTensorAlive) {
  const Tensor x = leaf({1});
  weak_intrusive_ptr<TensorImpl> gone;
  Tensor y;
  {
    const Tensor h = x.mul(2);
    h.retain_grad();
    gone = weak_intrusive_ptr<TensorImpl>(h.getIntrusivePtr());
    y = h.add(1);
  }
  EXPECT_TRUE(gone.expired());
  y.backward();
  EXPECT_EQ(values(x.grad()), (Values{2}));
}

}  // namespace
}  // namespace shunt::test
