// Gradients of gradients of compiled functions' results, at once: a run with create_graph goes through the history that
// eager code would have recorded (Note [Unfolded nodes], src/autograd/graph_task.h).
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/interpose/dispatch_mode.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <tuple>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensor&)>;

Tensor leaf(IntArrayRef sizes, uint64_t seed = 7) { return numbers(sizes, seed).requires_grad_(); }

/// Whose results lead to CompiledFunctionBackward, by the nodes of views if that is what they are.
Function compiled(const Function& f, IntArrayRef sizes) {
  auto fast = compile(f);
  for (int i = 0; i < 3; ++i) std::ignore = fast(leaf(sizes));
  const Tensor y = fast(leaf(sizes));
  EXPECT_TRUE(isCompiled(y) || y.grad_fn()->next_edge(0).function->name() == "CompiledFunctionBackward")
      << fast.explain();
  return [fast](const Tensor& x) { return fast(x); };
}

void expectSame(const Tensors& got, const Tensors& expected) { EXPECT_TRUE(same(expected, got)); }

/// Some of the result's readers made before the gradient, some of them after.
Tensors throughBoth(const Function& f, const Tensor& x) {
  const Tensor y = f(x), a = y.sin(), b = y * y;
  const Tensor g = autograd::grad({(a * b).sum()}, {x}, {}, true, true)[0];
  const Tensor c = y.exp();
  const Tensor loss = (g * g).sum() + (a * c).sum() + (y * b).sum();
  const Tensors second = autograd::grad({loss}, {x, y}, {}, true, true);
  return {g, second[0], second[1], autograd::grad({(second[0] * second[0]).sum() + loss}, {x})[0]};
}

const std::pair<const char*, Function> kFunctions[] = {
    {"saves its result", [](const Tensor& x) { return (x * 2).exp(); }},
    {"adds up", [](const Tensor& x) { return x.sin() * x + (x * x).tanh(); }},
    {"ends in a second result", [](const Tensor& x) { return std::get<1>(var_mean(x * x, {0}, true, false)); }},
    {"ends in a view", [](const Tensor& x) { return (x.tanh() * x).t(); }},
};

TEST(Unfolded, GradientsComeTogetherAsInEagerCode) {
  for (const auto& [name, f] : kFunctions) {
    SCOPED_TRACE(name);
    expectSame(throughBoth(compiled(f, {4, 3}), leaf({4, 3})), throughBoth(f, leaf({4, 3})));
  }
}

TEST(Unfolded, HooksSeeTheWholeGradient) {
  const auto seen = [](const Function& f) {
    const Tensor x = leaf({4, 3}), y = f(x);
    Tensors out;
    y.register_hook([&](const Tensor& g) {
      out.push_back(g.detach().clone());
      return g * 2;
    });
    y.retain_grad();
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    y.register_hook([&](const Tensor& g) {  // of the node that was unfolded before
      out.push_back(g.detach().clone());
      return g;
    });
    ((g * g).sum() + y.pow(2).sum()).backward();
    out.push_back(x.grad());
    out.push_back(y.grad());
    return out;
  };
  for (const auto& [name, f] : kFunctions) {
    SCOPED_TRACE(name);
    const Tensors expected = seen(f);
    EXPECT_GE(expected.size(), 5u);
    expectSame(seen(compiled(f, {4, 3})), expected);
  }
}

// What saves its own result leads to the history's end by itself, where no edge leads to the compiled function's node.
TEST(Unfolded, HooksAreCalledByAGradientsGraphAlone) {
  const auto f = [](const Tensor& x) { return (x * 2).exp(); };
  const auto seen = [](const Function& f) {
    const Tensor x = leaf({4}), y = f(x);
    y.register_hook([](const Tensor& g) { return g * 10; });
    y.grad_fn()->add_pre_hook([](const Tensors& g) { return Tensors{g[0] * 3}; });
    y.retain_grad();
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    const Tensor second = autograd::grad({g.sum()}, {x}, {}, true, true)[0];
    g.sum().backward({}, true, false, Tensors{y});
    return Tensors{g, second, y.grad()};
  };
  const Tensors expected = seen(f);
  ASSERT_TRUE(expected[2].defined());
  expectSame(seen(compiled(f, {4})), expected);
}

TEST(Unfolded, TheGraphIsFreedOnce) {
  const auto f = [](const Tensor& x) { return (x * 2).exp(); };
  const auto twice = [](const Function& f, bool in_a_hook) {
    const Tensor x = leaf({4}), y = f(x), other = y * 3, sum = y.sum();
    const auto unfold = [&] { autograd::grad({sum}, {x}, {}, true, true); };
    if (in_a_hook)
      other.register_hook([&](const Tensor& g) {
        unfold();
        return g;
      });
    else
      unfold();
    other.sum().backward();
    return errorOf([&] { y.sum().backward(); });
  };
  for (const bool in_a_hook : {false, true}) {
    EXPECT_THAT(twice(f, in_a_hook), HasSubstr("backward through the graph a second time"));
    EXPECT_THAT(twice(compiled(f, {4}), in_a_hook), HasSubstr("backward through the graph a second time"));
  }
}

TEST(Unfolded, WhereEagerCodeSavesNothingNothingIsFreed) {
  const auto f = [](const Tensor& x) { return x * 2 + x; };
  const Tensor x = leaf({4}), y = compiled(f, {4})(x);
  autograd::grad({y.sum()}, {x});
  EXPECT_TRUE(same(autograd::grad({y.sum()}, {x}, {}, true, true)[0], ones({4}) * 3));
}

TEST(Unfolded, WhatWasChangedSinceIsNoticed) {
  const auto f = [](const Tensor& x) { return (x * 2).exp(); };
  const auto fast = compiled(f, {4});
  for (const bool before : {true, false}) {
    const Tensor x = leaf({4}), y = fast(x * 1);
    int calls = 0;
    y.register_hook([&](const Tensor& g) {
      ++calls;
      return g;
    });
    const auto first = [&] { return autograd::grad({y.sum()}, {x}, {}, true, true)[0]; };
    const Tensor g = before ? Tensor() : first();
    y.detach().add_(1);
    EXPECT_THAT(errorOf([&] { before ? first() : autograd::grad({y.sum()}, {x})[0]; }),
                HasSubstr("modified by an inplace operation"));
    EXPECT_EQ(calls, before ? 1 : 2);  // thrown when the node has its turn
    if (!before)
      EXPECT_THAT(errorOf([&] { autograd::grad({g.sum()}, {x}); }), HasSubstr("modified by an inplace operation"));
  }
}

// Modes see no operators of the function, and change nothing.
TEST(Unfolded, NobodySeesTheGraphRunAgain) {
  struct Counts final : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      calls += op.operator_name().name == "aten::tanh";
      op.callBoxed(stack);
    }
    int calls = 0;
  };
  const auto f = [](const Tensor& x) { return (x * 2).tanh(); };
  const Tensor x = leaf({4}), y = compiled(f, {4})(x);
  Counts counts;
  Tensor g;
  {
    const DispatchModeGuard guard(counts);
    g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  }
  EXPECT_EQ(counts.calls, 0);
  const Tensor z = leaf({4}), again = f(z);
  EXPECT_TRUE(same(g, autograd::grad({again.sum()}, {z}, {}, true, true)[0]));
}

TEST(Unfolded, WhereTheRunEndsBeforeItNothingIsRunAgain) {
  const auto f = [](const Tensor& x) { return (x * 2).tanh(); };
  auto fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensor y = fast(leaf({4}));
    autograd::grad({(y * y).sum()}, {y}, {}, true, true);
    EXPECT_TRUE(i == 0 || isCompiled(y)) << i;
  }
}

// A gradient that the function computes itself would go on through the arguments' graph.
TEST(Unfolded, FunctionsThatDifferentiateTakeNoArgumentsWithAGraph) {
  const auto f = [](const Tensor& a, const Tensor& b) { return autograd::grad({(a * b).sum()}, {a}, {}, true)[0] * b; };
  auto fast = compile(f);
  for (int i = 0; i < 6; ++i) {
    const Tensor a = leaf({4}), c = leaf({4}, 8);
    EXPECT_TRUE(same(fast(a, a * 2), f(a, a * 2))) << i;
    EXPECT_TRUE(same(fast(a, c), f(a, c))) << i;
  }
  EXPECT_THAT(fast.explain(), HasSubstr("a tensor has a graph from outside of the function"));
  EXPECT_GT(fast.counts().hits, 2u) << fast.explain();
}

TEST(Unfolded, ByManyThreadsAtOnce) {
  const auto& f = kFunctions[1].second;
  const auto fast = compiled(f, {16});
  const auto second = [](const Tensor& y, const Tensor& x) {
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    return autograd::grad({(g * g).sum() + y.sum()}, {x}, {}, true)[0];
  };
  const Tensor plain = leaf({16}), of_plain = f(plain);
  Tensor expected;
  std::thread([&] { expected = second(of_plain, plain); }).join();  // threads count their nodes by themselves
  for (int round = 0; round < 20; ++round) {
    const Tensor x = leaf({16}), y = fast(x);
    Tensors got(4);
    std::vector<std::thread> threads;
    for (Tensor& t : got) threads.emplace_back([&] { t = second(y, x); });
    for (std::thread& t : threads) t.join();
    for (const Tensor& t : got) ASSERT_TRUE(same(t, expected)) << round;
  }
}

}  // namespace
}  // namespace shunt::test
