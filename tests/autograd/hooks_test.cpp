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

TEST(TensorHook, AddedInsideAHookRunsFromTheNextTimeOn) {
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
  EXPECT_EQ(inner, 0);
  h.sum().backward();
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

TEST(RetainGrad, ComesAfterTheHooks) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(10);
  const auto tenfold = [](const Tensor& g) { return g.mul(10); };
  EXPECT_EQ(h.register_hook(tenfold), 0u);
  h.retain_grad();
  EXPECT_EQ(h.register_hook(tenfold), 2u);
  h.sum().backward();
  EXPECT_EQ(values(h.grad()), (Values{100}));
  EXPECT_EQ(values(x.grad()), (Values{1000}));
}

TEST(NodeHook, PreHooksComeAfterThoseOfTheTensors) {
  std::string order;
  const auto of = [&](const Tensor& t, Node& node) {
    node.add_pre_hook([&](const variable_list& g) { return order += "node ", g; });
    t.register_hook([&](const Tensor& g) { return order += "tensor ", g; });
    node.add_post_hook([&](const variable_list& g, const variable_list&) { return order += "post ", g; });
  };
  const Tensor x = leaf({1});
  const Tensor h = x.mul(10);
  of(h, *h.grad_fn());
  of(x, *h.grad_fn()->next_edge(0).function);
  h.sum().backward();
  EXPECT_EQ(order, "tensor node post tensor node post ");
  EXPECT_EQ(values(x.grad()), (Values{10}));
}

TEST(TensorHook, RunsForAGradientThatIsReturned) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(3);
  int of_node = 0;
  h.grad_fn()->add_pre_hook([&](const variable_list& g) { return ++of_node, g; });
  h.register_hook([](const Tensor& g) { return g.mul(10); });
  x.register_hook([](const Tensor& g) { return g.mul(2); });
  const auto grads = [&](const variable_list& inputs) {
    std::vector<Values> out;
    for (const Tensor& g : autograd::grad({h.sum()}, inputs, {}, true)) out.push_back(values(g));
    return out;
  };
  EXPECT_EQ(grads({h}), (std::vector<Values>{{10}}));
  EXPECT_EQ(of_node, 0);
  EXPECT_EQ(grads({x}), (std::vector<Values>{{60}}));
  EXPECT_EQ(of_node, 1);
  EXPECT_EQ(grads({h, x}), (std::vector<Values>{{1}, {60}}));  // what had come to h, where the run goes on
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

TEST(NodeHook, IsRemovedByItsNumber) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(1);
  Node& node = *h.grad_fn();
  std::string order;
  const auto pre = [&](const char* name) {
    return node.add_pre_hook([&order, name](const variable_list& g) { return order += name, g; });
  };
  const auto post = [&](const char* name) {
    return node.add_post_hook(
        [&order, name](const variable_list& g, const variable_list&) { return order += name, g; });
  };
  EXPECT_THAT(errorOf([&] { node.remove_pre_hook(0); }), HasSubstr("remove_pre_hook: MulBackward1 has no pre-hook 0"));
  const unsigned a = pre("a"), b = pre("b"), c = post("c"), d = post("d");
  h.sum().backward({}, true);
  EXPECT_EQ(order, "abcd");
  node.remove_pre_hook(a);
  node.remove_post_hook(d);
  node.remove_post_hook(d);
  EXPECT_NE(pre("e"), b);
  h.sum().backward({}, true);
  EXPECT_EQ(order, "abcdbec");
  EXPECT_THAT(errorOf([&] { node.remove_post_hook(9); }), HasSubstr("has no post-hook 9"));
  node.remove_post_hook(c);
}

TEST(NodeHook, MayRemoveItselfAndAddOthersWhileItRuns) {
  const Tensor x = leaf({1});
  const Tensor h = x.mul(1);
  Node& node = *h.grad_fn();
  std::string order;
  unsigned id = 0;
  id = node.add_pre_hook([&, kept = std::string("a long text that isn't kept in place")](const variable_list& g) {
    node.remove_pre_hook(id);
    for (int i = 0; i < 20; ++i) node.add_pre_hook([&](const variable_list& grads) { return order += ".", grads; });
    order += kept;
    return g;
  });
  h.sum().backward({}, true);
  EXPECT_EQ(order, "a long text that isn't kept in place");
  h.sum().backward();
  EXPECT_EQ(order, "a long text that isn't kept in place....................");
}

TEST(PostAccumulateGradHook, SeesTheLeafWithItsNewGrad) {
  const Tensor x = leaf({1, 2});
  std::vector<Values> seen;
  const unsigned id = x.register_post_accumulate_grad_hook([&](const Tensor& t) {
    EXPECT_TRUE(t.is_same(x));
    seen.push_back(values(t.grad()));
  });
  x.register_hook([&](const Tensor& g) {
    EXPECT_EQ(x.grad().defined(), !seen.empty());
    return g.mul(10);
  });
  x.mul(3).sum().backward();
  x.mul(3).add(x).sum().backward();  // both gradients arrive, and one sum is added
  EXPECT_EQ(seen, (std::vector<Values>{{30, 30}, {70, 70}}));
  x.remove_post_accumulate_grad_hook(id);
  x.mul(3).sum().backward();
  EXPECT_EQ(seen.size(), 2u);
}

TEST(PostAccumulateGradHook, MayTakeTheGradAway) {
  const Tensor x = leaf({1, 2});
  Values stepped;
  x.register_post_accumulate_grad_hook([&](const Tensor& t) {
    const NoGradGuard guard;
    t.sub_(t.grad());
    t.mutable_grad() = {};
  });
  x.mul(3).sum().backward();
  EXPECT_EQ(values(x), (Values{-2, -1}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(PostAccumulateGradHook, ComesBeforeThoseOfTheAccumulatorAndNotForGradsThatAreReturned) {
  const Tensor x = leaf({1});
  std::string order;
  x.register_post_accumulate_grad_hook([&](const Tensor&) { order += "tensor "; });
  const Tensor y = x.mul(3);
  y.grad_fn()->next_edge(0).function->add_post_hook(
      [&](const variable_list& g, const variable_list&) { return order += "node ", g; });
  y.sum().backward({}, true);
  EXPECT_EQ(order, "tensor node ");
  autograd::grad({y.sum()}, {x});
  EXPECT_EQ(order, "tensor node ");
}

TEST(PostAccumulateGradHook, IsForLeavesThatRequireGrad) {
  const Tensor x = leaf({1});
  const auto hook = [](const Tensor&) {};
  EXPECT_THAT(errorOf([&] { x.mul(2).register_post_accumulate_grad_hook(hook); }),
              HasSubstr("post accumulate grad hooks cannot be registered on non-leaf tensors"));
  EXPECT_THAT(errorOf([&] { tensorOf({1}).register_post_accumulate_grad_hook(hook); }),
              HasSubstr("cannot register a hook on a tensor that doesn't require gradient"));
  EXPECT_THAT(errorOf([&] { x.remove_post_accumulate_grad_hook(0); }), HasSubstr("no hook at position 0"));
}

}  // namespace
}  // namespace shunt::test
