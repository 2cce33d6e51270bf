// The engine on graphs of dictionary operators and of nodes written here: accumulation, freeing, restricted runs,
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <shunt/autograd/saved_variable.h>
#include <shunt/shunt.h>

#include "tests/autograd/util.h"

#include <pthread.h>

namespace shunt::test {
namespace {

using autograd::grad;
using autograd::variable_list;
using testing::HasSubstr;

TEST(Backward, AddsToLeaves) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  const Tensor loss = x.mul(w).sum();
  loss.backward();
  EXPECT_EQ(values(x.grad()), (Values{4, 5, 6}));
  EXPECT_EQ(values(w.grad()), (Values{1, 2, 3}));
  x.mul(w).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{8, 10, 12}));
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Backward, LeavesAndGraphsAreWhatTheyAreInPyTorch) {
  const Tensor x = leaf({1, 2});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(x.grad_fn());
  const Tensor y = x.mul(x);
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward0");
  EXPECT_EQ(y.add(1).grad_fn()->name(), "AddBackward1");
  {
    NoGradGuard guard;
    EXPECT_FALSE(x.mul(x).requires_grad());
  }
  EXPECT_FALSE(x.detach().requires_grad());
}

/// Runs backward inside of itself, `depth` times.
struct NestingNode : Node {
  explicit NestingNode(int depth) : depth_(depth) {}
  variable_list apply(variable_list&& grads) override {
    if (depth_ > 0) {
      AutoGradMode mode(true);
      const Tensor x = leaf({1});
      applyNode<NestingNode>({x}, x.detach(), depth_ - 1).backward();
    }
    return std::move(grads);
  }
  int depth_;
};

TEST(Backward, InsideItselfOnASmallStack) {
  const auto run = [](int depth) {
    struct Run {
      int depth;
      std::string error;
    } r{depth, ""};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, size_t{256} << 10), 0);
    const auto body = [](void* given) -> void* {
      auto* const r = static_cast<Run*>(given);
      const Tensor x = leaf({1});
      r->error = errorOf([&] { applyNode<NestingNode>({x}, x.detach(), r->depth).backward(); });
      return nullptr;
    };
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, &attributes, body, &r), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return r.error;
  };
  EXPECT_EQ(run(1), "no error");
  EXPECT_THAT(run(10000), HasSubstr("the thread's stack has no room for more"));
}

TEST(Backward, FreesTheGraphUnlessRetained) {
  const Tensor x = leaf({2});
  const Tensor y = x.mul(x).sum();
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(values(x.grad()), (Values{8}));
  EXPECT_THAT(errorOf([&] { y.backward(); }), HasSubstr("Trying to backward through the graph a second time"));
  EXPECT_EQ(values(x.grad()), (Values{8}));
}

TEST(Backward, CreateGraphGivesGradientsOfGradients) {
  const Tensor x = leaf({3});
  const Tensor y = x.mul(x).mul(x).sum();
  y.backward({}, std::nullopt, true);
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  EXPECT_EQ(first.grad_fn()->name(), "CopyBackwards") << "as in libtorch, whatever the strides";
  EXPECT_EQ(values(first), (Values{27}));
  x.mutable_grad() = Tensor();
  first.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{18}));
}

TEST(Backward, TakesOneGradientPerOutput) {
  const Tensor x = leaf({1, 2});
  const Tensor a = x.mul(2), b = x.mul(3);
  autograd::backward({a, b}, {tensorOf({1, 1}), tensorOf({10, 100})});
  EXPECT_EQ(values(x.grad()), (Values{32, 302}));
  EXPECT_THAT(errorOf([&] { x.mul(2).backward(); }),
              HasSubstr("grad can be implicitly created only for scalar outputs"));
  EXPECT_THAT(errorOf([&] { x.mul(2).backward(tensorOf({1, 2, 3})); }),
              HasSubstr("Mismatch in shape: grad_output[0] has a shape of [3]"));
  EXPECT_THAT(errorOf([&] { tensorOf({1}).backward(); }), HasSubstr("element 0 of tensors does not require grad"));
}

TEST(Backward, SumsAGradientThatIsLargerThanItsOutput) {
  const Tensor x = leaf({3}), y = x.mul(2);
  y.backward(tensorOf({1, 2, 4}), true);
  EXPECT_EQ(x.grad().sizes(), y.sizes());
  EXPECT_EQ(values(x.grad()), (Values{14}));
  const Tensor seed = leaf({1, 2, 4});
  const Tensor g = grad({y}, {x}, {seed}, true, true)[0];
  EXPECT_EQ(values(g), (Values{14}));
  EXPECT_EQ(values(grad({g}, {seed})[0]), (Values{2, 2, 2})) << "through the sum";
}

TEST(Grad, ReturnsWithoutTouchingLeaves) {
  const Tensor x = leaf({2}), w = leaf({5}), unused = leaf({1});
  const Tensor h = x.mul(w), y = h.mul(h).sum();
  const variable_list g = grad({y}, {x, h}, {}, true);
  EXPECT_EQ(values(g[0]), (Values{100}));
  EXPECT_EQ(values(g[1]), (Values{20}));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
  EXPECT_THAT(errorOf([&] { grad({y}, {unused}, {}, true); }), HasSubstr("appears to not have been used in the graph"));
  EXPECT_FALSE(grad({y}, {unused}, {}, true, false, true)[0].defined());
  EXPECT_EQ(values(grad({y}, {y}, {}, true)[0]), (Values{1}));
  EXPECT_THAT(errorOf([&] { grad({y}, {tensorOf({1})}, {}, true); }), HasSubstr("does not require grad"));
}

TEST(Grad, RunsOnlyWhatLeadsToTheInputs) {
  int calls = 0;
  const Tensor x = leaf({2}), other = leaf({3});
  const Tensor counted = applyNode<CountingNode>({other}, other.detach().clone(), &calls);
  const Tensor y = x.mul(counted).sum();
  EXPECT_EQ(values(grad({y}, {x}, {}, true)[0]), (Values{3}));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(values(grad({y}, {other})[0]), (Values{2}));
  EXPECT_EQ(calls, 1);
}

TEST(Backward, WithInputsAccumulatesOnlyThere) {
  const Tensor x = leaf({2}), w = leaf({5});
  const Tensor h = x.mul(w), y = h.mul(h).sum();
  autograd::backward({y}, {}, true, false, {x});
  EXPECT_EQ(values(x.grad()), (Values{100}));
  EXPECT_FALSE(w.grad().defined());
  autograd::backward({y}, {}, true, false, {h});
  EXPECT_EQ(values(h.grad()), (Values{20}));
  EXPECT_FALSE(w.grad().defined());
}

TEST(Accumulation, StealsOnlyWhatNobodyElseHas) {
  const Tensor x = leaf({1, 2});
  const Tensor seed = tensorOf({1, 1});
  x.view({2}).backward(seed);
  EXPECT_FALSE(x.grad().is_alias_of(seed));
  x.mul(1).backward(seed);
  EXPECT_EQ(values(seed), (Values{1, 1}));
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
}

TEST(Accumulation, GradLiesAsTheLeafDoes) {
  const Tensor x = rand({2, 3}, kDouble).t().requires_grad_();
  x.mul(2).backward(ones({3, 2}, kDouble));
  EXPECT_EQ(x.grad().strides().vec(), x.strides().vec());
}

TEST(Accumulation, UnderCreateGraphLeavesTheOldGradAlone) {
  const Tensor x = leaf({3});
  x.mul(2).sum().backward();
  const Tensor before = x.grad();
  x.mul(x).sum().backward({}, std::nullopt, true);
  EXPECT_EQ(values(before), (Values{2}));
  EXPECT_EQ(values(x.grad()), (Values{8}));
  x.mutable_grad().reset();  // its graph leads back to x: a cycle until it is dropped, as in PyTorch
}

TEST(Gradients, AreSummedAndCastToFit) {
  const Tensor x = ones({3, 1}, kFloat).requires_grad_();
  const Tensor y = x.add(ones({2, 3, 4}, kDouble));
  EXPECT_EQ(y.scalar_type(), kDouble);
  y.sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), kFloat);
  EXPECT_EQ(x.grad().sizes().vec(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(values(x.grad()), (Values{8, 8, 8}));
}

TEST(Gradients, ThatCannotFitAreRefused) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = applyNode<WrongShapeNode>({x}, x.detach().clone());
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }),
              HasSubstr("Function WrongShapeNode returned an invalid gradient at index 0 - got [2] but expected shape "
                        "compatible with [3]"));
  const Tensor z = applyNode<TooFewNode>({x, x}, x.detach().clone());
  EXPECT_THAT(errorOf([&] { z.sum().backward(); }),
              HasSubstr("returned an invalid number of gradients - expected 2, but got 1"));
}

TEST(Gradients, MayBeUndefined) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = applyNode<UndefinedNode>({x}, x.detach().clone());
  y.mul(w).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(values(w.grad()), (Values{1, 2}));
  // Two paths, one without gradient.
  x.mul(y.add(x)).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{3, 6}));
}

TEST(Errors, LeaveTheEngineUsable) {
  const Tensor x = leaf({1, 2});
  const Tensor y = applyNode<ThrowingNode>({x}, x.detach().clone()).mul(x).sum();
  EXPECT_THAT(errorOf([&] { y.backward(); }), HasSubstr("from inside a node"));
  EXPECT_TRUE(GradMode::is_enabled());
  const Tensor w = leaf({3});
  w.mul(2).sum().backward();
  EXPECT_EQ(values(w.grad()), (Values{2}));
}

TEST(Errors, SavedTensorChangedInPlace) {
  const Tensor x = leaf({1, 2});
  Tensor h = x.mul(2);
  const Tensor y = h.mul(h).sum();
  h.add_(1);
  const std::string message = errorOf([&] { y.backward(); });
  EXPECT_THAT(
      message,
      HasSubstr("one of the variables needed for gradient computation has been modified by an inplace operation"));
  EXPECT_THAT(message, HasSubstr("is at version 1; expected version 0 instead"));
}

TEST(Depth, AMillionNodesRunAndGoWithoutRecursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = applyNode<PassNode>({y}, x.detach());
  y.backward();
  EXPECT_EQ(values(x.grad()), (Values{1}));
  y = Tensor();  // a graph that no backward has gone through is destroyed the same way
  Tensor z = x;
  for (int i = 0; i < 100'000; ++i) z = z.add(1);
  z = Tensor();
}

TEST(Depth, WideGraphsOutgrowTheRunsOwnMemory) {
  const Tensor x = leaf({1, 2});
  Tensor sum = x.mul(0);
  for (int i = 1; i <= 100; ++i) sum = sum.add(x.mul(x).mul(i));
  sum.backward(tensorOf({1, 1}));
  EXPECT_EQ(values(x.grad()), (Values{2 * 5050, 4 * 5050}));
}

TEST(Lists, OfGradientsGoFromNodeToNode) {
  std::vector<size_t> rooms;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 3; ++i) y = applyNode<RoomNode>({y}, x.detach().clone(), &rooms);
  y.backward();
  ASSERT_EQ(rooms.size(), 3u);
  for (const size_t room : rooms) EXPECT_GE(room, 4u) << "a list for this node alone would have room for one";
}

TEST(Lists, AreReusedByGeneratedNodes) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  for (const Tensor& y : {x.mul(w), x.sigmoid(), x.add(w)}) {
    variable_list grads;
    grads.reserve(4);
    grads.push_back(tensorOf({1, 1}));
    const Tensor* at = grads.data();
    const variable_list result = (*y.grad_fn())(std::move(grads));
    EXPECT_EQ(result.data(), at) << y.grad_fn()->name();
    EXPECT_EQ(result.size(), y.grad_fn()->num_outputs());
  }
}

TEST(Lists, OfNodesWithSeveralOutputsKeepAllGradients) {
  const Tensor x = leaf({3, 1, 2});
  const auto [values_of, indices] = x.max(0, true);
  values_of.mul(5).backward(tensorOf({1}));
  EXPECT_EQ(values(x.grad()), (Values{5, 0, 0}));
  const Tensor part = leaf({1, 2, 3, 4});
  const std::vector<Tensor> halves = part.split(2);
  halves[0].mul(halves[1]).backward(tensorOf({1, 1}));
  EXPECT_EQ(values(part.grad()), (Values{3, 4, 1, 2}));
}

TEST(Reentrant, BackwardInsideANode) {
  const Tensor x = leaf({2});
  const Tensor y = applyNode<NestedNode>({x}, x.detach().clone());
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{1 + 6}));  // NestedNode runs 3 v^2 at v = 1
}

TEST(SavedOutput, DoesNotKeepItsNodeAlive) {
  weak_intrusive_ptr<Node> node;
  {
    const Tensor x = leaf({0.5});
    const Tensor y = x.sigmoid();
    node = weak_intrusive_ptr<Node>(y.grad_fn());
    EXPECT_FALSE(node.expired());
  }
  EXPECT_TRUE(node.expired());
}

TEST(RequiresGrad, Rules) {
  EXPECT_THAT(errorOf([] { ones({2}, kLong).requires_grad_(); }),
              HasSubstr("Only Tensors of floating point and complex dtype can require gradients"));
  const Tensor x = leaf({1});
  EXPECT_TRUE(x.key_set().has(DispatchKey::AutogradCPU));
  const Tensor y = x.mul(2);
  EXPECT_THAT(errorOf([&] { y.requires_grad_(false); }),
              HasSubstr("you can only change requires_grad flags of leaf variables."));
  x.requires_grad_(false);
  EXPECT_FALSE(x.key_set().has(DispatchKey::AutogradCPU));
  EXPECT_FALSE(x.mul(2).requires_grad());
}

TEST(Modes, GradModeIsTheThreadsAgainAfterBackward) {
  const Tensor x = leaf({1});
  const Tensor y = x.mul(x).sum();
  NoGradGuard guard;
  y.backward({}, true);
  EXPECT_FALSE(GradMode::is_enabled());
  EXPECT_FALSE(x.grad().requires_grad());
}

}  // namespace
}  // namespace shunt::test
