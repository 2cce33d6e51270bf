// trace(): what it records, and that graphs do again what the function did.
#include <shunt/trace/trace.h>

#include "tests/support/same_bits.h"
#include "tests/support/wrapper.h"

#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt {
namespace {

using test::sameBits;
using test::Wrapper;
using testing::HasSubstr;
using testing::Not;

int64_t countOf(const Graph& g, std::string_view name) {
  int64_t n = 0;
  for (const Graph::Node* node : g.nodes()) n += node->is(name);
  return n;
}

Tensor numbers(IntArrayRef sizes, uint64_t seed = 1) {
  manual_seed(seed);
  return randn(sizes);
}

TEST(Trace, RecordsOperatorsAsTheyAreCalled) {
  const Tensor x = numbers({2, 3}), w = numbers({3, 4}, 2);
  const Graph g = trace([&](const Tensor& t) { return (t.mm(w) * 2).relu(); }, x);
  EXPECT_EQ(g.print(), R"(graph(%0: float32[2, 3]):
  %1: float32[3, 4] = constant
  %2: float32[2, 4] = aten::mm(%0, %1)
  %3: float32[2, 4] = aten::mul.Scalar(%2, 2)
  %4: float32[2, 4] = aten::relu(%3)
  return %4
)");
  g.verify();
  const Tensor y = numbers({2, 3}, 3);
  EXPECT_TRUE(sameBits(g.run({y})[0], (y.mm(w) * 2).relu()));
}

TEST(Trace, ConstantsAreReadWhenTheGraphRuns) {
  const Tensor w = ones({3});
  const Graph g = trace([&](const Tensor& x) { return x + w; }, zeros({3}));
  w.fill_(5);
  EXPECT_TRUE(sameBits(g.run({zeros({3})})[0], full({3}, 5.0)));
  EXPECT_TRUE(g.constants().at(0)->constant.is_same(w));
}

TEST(Trace, ContainersGoInAndComeOut) {
  const Graph g = trace(
      [](const Tensor& a, const std::vector<Tensor>& list) {
        return std::tuple{a + list[0], std::vector<Tensor>{list[1] * a, a}};
      },
      std::tuple{ones({2}), std::vector<Tensor>{ones({2}), full({2}, 3.0)}});
  EXPECT_EQ(g.inputs().size(), 3u);
  const Tensor a = full({2}, 2.0);
  const std::vector<Tensor> out = g.run({a, ones({2}), full({2}, 3.0)});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(sameBits(out[0], full({2}, 3.0)));
  EXPECT_TRUE(sameBits(out[1], full({2}, 6.0)));
  EXPECT_TRUE(out[2].is_same(a));
}

TEST(Trace, ViewsAndWritesStayViewsAndWrites) {
  const auto f = [](const Tensor& x) {
    const Tensor row = x[0];
    row.add_(1);
    Tensor y = x.t();
    y.mul_(2);
    return std::pair{row, y};
  };
  const Graph g = trace(f, numbers({2, 3}));
  const Tensor plain = numbers({2, 3}, 4), traced = plain.clone();
  const auto [row, y] = f(plain);
  const std::vector<Tensor> out = g.run({traced});
  EXPECT_TRUE(sameBits(plain, traced));
  EXPECT_TRUE(sameBits(row, out[0]) && sameBits(y, out[1]));
  EXPECT_TRUE(out[0].is_alias_of(traced) && out[1].is_alias_of(traced));
  EXPECT_EQ(traced._version(), plain._version());
}

TEST(Trace, RunsForRealOnce) {
  const Tensor x = zeros({2}), w = zeros({2});
  trace([&](const Tensor& t) { w.add_(t.add_(1)); }, x);
  EXPECT_TRUE(sameBits(x, ones({2})) && sameBits(w, ones({2})));
}

TEST(Trace, OnFakeTensorsHasNoEffects) {
  const Tensor x = zeros({2}), w = zeros({2}).requires_grad_();
  const Graph g = trace(
      [&](const Tensor& t) {
        EXPECT_TRUE(is_traced(t));
        const Tensor made = shunt::tensor({1.0, 2.0});
        (w * made * t.add_(1)).sum().backward();
        const NoGradGuard no_grad;
        w.sub_(w.grad());
        return made;
      },
      x, {.fake = true});
  EXPECT_TRUE(sameBits(x, zeros({2})) && sameBits(w.detach(), zeros({2})));
  EXPECT_FALSE(w.grad().defined());
  g.verify();
  g.run({x});
  EXPECT_TRUE(sameBits(x, ones({2})));
  EXPECT_TRUE(sameBits(w.grad(), shunt::tensor({1.0, 2.0}))) << w.grad();
  EXPECT_TRUE(sameBits(w.detach(), shunt::tensor({-1.0, -2.0})));
}

// ---- autograd -----------------------------------------------------------------------------------------------------
TEST(Trace, BackwardIsRecorded) {
  const Tensor w = numbers({3, 2}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    const Tensor loss = x.mm(w).tanh().sum();
    loss.backward();
    return loss;
  };
  const Graph g = trace(f, numbers({4, 3}, 2));
  EXPECT_EQ(countOf(g, "aten::tanh_backward"), 1);
  EXPECT_EQ(countOf(g, "trace::accumulate_grad_"), 1);
  g.verify();
  const Tensor x = numbers({4, 3}, 5);
  w.mutable_grad() = Tensor();
  const Tensor expected = f(x), grad = w.grad().clone();
  w.mutable_grad() = Tensor();
  EXPECT_TRUE(sameBits(g.run({x})[0], expected));
  EXPECT_TRUE(sameBits(w.grad(), grad));
  g.run({x});  // is added up, as by backward()
  EXPECT_TRUE(sameBits(w.grad(), grad + grad));
}

// What a composite or a cast makes along the way is saved for backward, so it has to be a value, not a constant.
TEST(Trace, NothingThatIsMadeAlongTheWayBecomesAConstant) {
  const Tensor w = numbers({3, 4}).requires_grad_(), b = zeros({3}).requires_grad_();
  const Tensor labels = shunt::tensor({0, 2, 1, 1, 0});
  for (const bool autocast : {false, true}) {
    const auto f = [&](const Tensor& x) {
      std::optional<AutocastGuard> guard;
      if (autocast) guard.emplace(kCPU);
      const Tensor loss = cross_entropy_loss(linear(x, w, b), labels);
      guard.reset();
      loss.backward();
      return loss;
    };
    const Graph g = trace(f, numbers({5, 4}, 2));
    EXPECT_LE(g.constants().size(), 3u) << g.print();
    w.mutable_grad() = Tensor(), b.mutable_grad() = Tensor();
    const Tensor x = numbers({5, 4}, 6), expected = f(x), grad = w.grad().clone(), grad_b = b.grad().clone();
    w.mutable_grad() = Tensor(), b.mutable_grad() = Tensor();
    EXPECT_TRUE(sameBits(g.run({x})[0], expected));
    EXPECT_TRUE(sameBits(w.grad(), grad) && sameBits(b.grad(), grad_b)) << g.print();
    w.mutable_grad() = Tensor(), b.mutable_grad() = Tensor();
  }
}

struct Momentum {
  Tensor w = numbers({3, 1}).requires_grad_(), velocity = zeros({3, 1});
  Tensor step(const Tensor& x, const Tensor& y) {
    w.mutable_grad() = Tensor();
    const Tensor loss = (x.mm(w) - y).square().mean();
    loss.backward();
    const NoGradGuard no_grad;
    velocity.mul_(0.9).add_(w.grad());
    w.sub_(velocity * 0.1);
    return loss;
  }
};

TEST(Trace, ATrainingStepIsAGraph) {
  Momentum eager, traced;
  const Tensor x = numbers({8, 3}, 3), y = numbers({8, 1}, 4);
  const Graph g = trace([&](const Tensor& a, const Tensor& b) { return traced.step(a, b); }, std::tuple{x, y});
  g.verify();
  Tensor expected = eager.step(x, y);
  for (int i = 0; i < 5; ++i) {
    const Tensor a = numbers({8, 3}, 10 + i), b = numbers({8, 1}, 20 + i);
    expected = eager.step(a, b);
    EXPECT_TRUE(sameBits(g.run({a, b})[0], expected)) << i;
  }
  EXPECT_TRUE(sameBits(eager.w, traced.w)) << g.print();
  EXPECT_TRUE(sameBits(eager.w.grad(), traced.w.grad()));
  EXPECT_EQ(eager.w._version(), traced.w._version());
}

TEST(Trace, GradOfAnInputAndRequiresGradAreRecorded) {
  const auto f = [](const Tensor& x) {
    x.requires_grad_();
    x.pow(3).sum().backward();
    return x.grad() * 2;
  };
  const Graph g = trace(f, ones({2}));
  const Tensor x = full({2}, 2.0), y = x.clone();
  EXPECT_TRUE(sameBits(g.run({x})[0], f(y)));
  EXPECT_TRUE(x.requires_grad() && sameBits(x.grad(), y.grad()));
}

TEST(Trace, GradientsOfGradientsAreRecorded) {
  const auto f = [](const Tensor& x) {
    const Tensor first = autograd::grad({x.pow(3).sum()}, {x}, {}, true, true)[0];
    EXPECT_TRUE(is_traced(first));
    return autograd::grad({first.sum()}, {x})[0];
  };
  const Graph g = trace(f, ones({2}).requires_grad_());
  const Tensor x = full({2}, 2.0).requires_grad_();
  EXPECT_TRUE(sameBits(g.run({x})[0].detach(), full({2}, 12.0)));
}

TEST(Trace, RunWithoutBackwardRecordsTheGraph) {
  const Tensor w = numbers({3}).requires_grad_();
  const Graph g = trace([&](const Tensor& x) { return (x * w).sum(); }, ones({3}));
  const Tensor x = numbers({3}, 2);
  g.run({x})[0].backward();
  EXPECT_TRUE(sameBits(w.grad(), x));
}

TEST(Trace, RetainedGradsAreRecorded) {
  const auto f = [](const Tensor& x) {
    const Tensor y = x.exp();
    y.retain_grad();
    y.square().sum().backward();
    return y.grad() + 0;
  };
  const Graph g = trace(f, ones({2}).requires_grad_());
  const Tensor x = full({2}, 0.5).requires_grad_();
  EXPECT_TRUE(sameBits(g.run({x})[0], (x.exp() * 2).detach()));
}

// ---- settings -----------------------------------------------------------------------------------------------------
TEST(Trace, NodesKeepTheSettingsTheyWereRecordedWith) {
  const Tensor w = numbers({3, 3}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    Tensor low, plain;
    {
      const AutocastGuard autocast(kCPU);
      low = x.mm(w);
      const AutocastGuard off(kCPU, kBFloat16, false);
      plain = x.mm(w);
    }
    const NoGradGuard no_grad;
    return std::tuple{low, plain, x * w};
  };
  const Tensor x = numbers({3, 3}, 2);
  const auto expected = f(x);
  const Graph g = trace(f, x);
  EXPECT_THAT(g.print(), HasSubstr("# autocast cpu bfloat16"));
  EXPECT_THAT(g.print(), HasSubstr("# no_grad"));
  const auto expectSame = [&](const std::vector<Tensor>& out) {
    EXPECT_TRUE(sameBits(out[0], std::get<0>(expected)) && sameBits(out[1], std::get<1>(expected)));
    EXPECT_EQ(out[0].dtype(), kBFloat16);
    EXPECT_TRUE(out[1].requires_grad() && !out[2].requires_grad());
  };
  expectSame(g.run({x}));
  {
    const AutocastGuard autocast(kCPU, kHalf);
    const NoGradGuard no_grad;
    expectSame(g.run({x}));
    EXPECT_FALSE(GradMode::is_enabled());
    EXPECT_EQ(autocast::lower_precision_dtype(kCPU), kHalf);
  }
  EXPECT_FALSE(autocast::is_enabled(kCPU));
}

// Autocast keeps the cast of a leaf until the leaf is written: a traced one, too.
TEST(Trace, ACastIsMadeAgainAfterTheLeafWasWritten) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    const AutocastGuard autocast(kCPU);
    const Tensor a = linear(x, w) + linear(x, w);
    {
      const NoGradGuard no_grad;
      w.mul_(2);
    }
    return a + linear(x, w);
  };
  const Tensor w = numbers({3, 3}), x = numbers({4, 3}, 2);
  const Graph g = trace(f, std::pair{w.clone().requires_grad_(), x});
  const Tensor plain = w.clone().requires_grad_(), traced = w.clone().requires_grad_();
  EXPECT_TRUE(sameBits(g.run({traced, x})[0], f(plain, x))) << g.print();
  EXPECT_EQ(countOf(g, "aten::linear"), 0);
}

TEST(Trace, ARunThatThrowsRestoresTheSettings) {
  const Graph g = trace(
      [](const Tensor& x) {
        const NoGradGuard no_grad;
        const AutocastGuard autocast(kCPU);
        return x.view({6});
      },
      ones({2, 3}));
  const uint64_t included = tls_included().raw(), excluded = tls_excluded().raw();
  EXPECT_THROW(g.run({ones({3, 2}).t()}), Error);
  EXPECT_TRUE(GradMode::is_enabled() && !autocast::is_enabled(kCPU));
  EXPECT_EQ(tls_included().raw(), included);
  EXPECT_EQ(tls_excluded().raw(), excluded);
  EXPECT_EQ(autocast::cache_stats().entries, 0u);
}

TEST(Trace, SeveralThreadsRunOneGraph) {
  const Tensor w = numbers({16, 16});
  const auto f = [&](const Tensor& x) { return x.mm(w).tanh().sum(0); };
  const Graph g = trace(f, ones({16, 16}));
  std::vector<Tensor> inputs, outputs(4);
  for (uint64_t i = 0; i < 4; ++i) inputs.push_back(numbers({16, 16}, i));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50; ++j) outputs[i] = g.run({inputs[i]})[0];
    });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(sameBits(outputs[i], f(inputs[i])));
}

TEST(Trace, InferenceModeIsASettingToo) {
  const auto f = [](const Tensor& x) {
    const InferenceMode inference;
    Tensor y = x.exp();
    y.add_(1);
    return y;
  };
  const Tensor x = numbers({2}).requires_grad_();
  const Graph g = trace(f, x);
  EXPECT_THAT(g.print(), HasSubstr("aten::add_.Scalar(%1, 1, 1)  # inference_mode"));
  const Tensor y = g.run({x})[0];
  EXPECT_TRUE(sameBits(y, f(x)) && y.is_inference());
  const Graph all = [&] {
    const InferenceMode inference;
    return trace([](const Tensor& t) { return t.exp(); }, ones({2}));
  }();
  EXPECT_TRUE(all.run({ones({2})})[0].is_inference());
}

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * x * x * 3};
  }
};

struct Same : autograd::Function<Same> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    return {grads[0] * 5};
  }
};

TEST(Trace, CustomFunctionsAreRecordedForwardAndBackward) {
  const Tensor w = numbers({3}, 2).requires_grad_();
  const auto f = [&](const Tensor& x) {
    const Tensor y = Same::apply(Cube::apply(Same::apply(x) * w));
    EXPECT_TRUE(y.requires_grad());
    y.sum().backward();
    return std::pair{y.detach(), x.grad() + w.grad()};
  };
  const Tensor x = numbers({3});
  const Graph g = trace(f, x.clone().requires_grad_());
  EXPECT_EQ(g.constants().size(), 1u) << g.print();
  w.mutable_grad() = Tensor();
  const auto [y, grad] = f(x.clone().requires_grad_());
  w.mutable_grad() = Tensor();
  const std::vector<Tensor> out = g.run({x.clone().requires_grad_()});
  EXPECT_TRUE(sameBits(out[0], y) && sameBits(out[1], grad)) << g.print();
}

TEST(Trace, HooksAreRecordedWhereTheyRan) {
  const auto f = [](const Tensor& x) {
    const Tensor y = x.exp();
    y.register_hook([](const Tensor& grad) { return grad * 3; });
    y.sum().backward();
    return x.grad() + 0;
  };
  const Tensor x = numbers({2});
  const Graph g = trace(f, x.clone().requires_grad_());
  EXPECT_TRUE(sameBits(g.run({x.clone().requires_grad_()})[0], f(x.clone().requires_grad_()))) << g.print();
}

TEST(Trace, SubclassesSeeTheNodes) {
  const auto f = [](const Tensor& x) { return x.exp().neg(); };
  const Tensor x = numbers({2});
  const Graph g = trace(f, wrap<Wrapper>(x));
  EXPECT_EQ(g.print(), trace(f, x).print());
  Wrapper::calls = 0;
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(g.run({wrap<Wrapper>(x)})[0]), f(x)));
  EXPECT_EQ(Wrapper::calls, 2);
}

TEST(Trace, FakeAndFunctionalTensorsGoThroughAGraph) {
  const Graph g = trace([](const Tensor& x) { return Tensor(x).add_(1).relu(); }, ones({2}));
  const Tensor fake = g.run({to_fake(ones({2}))})[0];
  EXPECT_TRUE(is_fake(fake));
  const Tensor x = ones({2});
  const Tensor y = functionalize([&](const Tensor& t) { return g.run({t})[0]; })(x);
  EXPECT_TRUE(sameBits(x, full({2}, 2.0)) && sameBits(y, x));
}

TEST(Trace, RandomOperatorsDrawAnew) {
  const auto f = [](const Tensor& x) { return dropout(x + rand({4}), 0.5, true) + randn_like(x); };
  const Graph g = trace(f, ones({4}));
  manual_seed(7);
  const Tensor a = f(ones({4})), b = f(ones({4}));
  manual_seed(7);
  EXPECT_TRUE(sameBits(g.run({ones({4})})[0], a));
  EXPECT_TRUE(sameBits(g.run({ones({4})})[0], b));
}

TEST(Trace, NumbersMadeInsideAreMadeAnewInEachRun) {
  const Graph g = trace(
      [](const Tensor& x) {
        Tensor sum = shunt::tensor({0.0, 0.0});
        sum.add_(x);
        return sum;
      },
      ones({2}));
  g.run({ones({2})});
  EXPECT_TRUE(sameBits(g.run({ones({2})})[0], ones({2})));
}

struct Counting : DispatchMode {
  explicit Counting(Level level) : level_(level) {}
  Level level() const override { return level_; }
  void handle(const OperatorHandle& op, Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  int calls = 0;

 private:
  Level level_;
};

TEST(Trace, ModesSeeEveryNode) {
  const auto f = [](const Tensor& x) { return (x.add(x)).relu().neg(); };
  const Graph g = trace(f, ones({2}));
  for (const auto level : {DispatchMode::Level::kCall, DispatchMode::Level::kKernel}) {
    Counting mode(level);
    const Tensor x = ones({2});
    const DispatchModeGuard on(mode);
    g.run({x});
    EXPECT_EQ(mode.calls, 3);
    const Graph again = trace(f, x);  // a mode around it is none that f entered
    EXPECT_EQ(again.print(), g.print());
    EXPECT_EQ(mode.calls, 6);
  }
}

TEST(Trace, AGraphThatRunsInATraceIsRecorded) {
  const auto f = [](const Tensor& x) { return x.exp().neg(); };
  const Graph g = trace(f, ones({2}));
  const Graph outer = trace([&](const Tensor& x) { return g.run({x})[0]; }, ones({2}));
  EXPECT_EQ(outer.print(), g.print());
}

// ---- functionalized -----------------------------------------------------------------------------------------------
TEST(Trace, FunctionalizedWritesOnlyAtTheEnd) {
  const Tensor w = zeros({2});
  const auto f = [&](const Tensor& x) {
    x[0].add_(1);
    w.add_(x[0]);
    return x * w;
  };
  const Graph g = trace(f, zeros({3, 2}), {.functionalize = true});
  for (const Graph::Node* node : g.nodes())
    EXPECT_TRUE(!node->op.schema().is_mutable() || node->is("aten::copy_")) << g.print();
  EXPECT_EQ(countOf(g, "aten::copy_"), 2) << g.print();
  w.zero_();
  const Tensor x = numbers({3, 2}), y = x.clone();
  const Tensor got = g.run({x})[0], written = w.clone();
  w.zero_();
  EXPECT_TRUE(sameBits(f(y), got));
  EXPECT_TRUE(sameBits(x, y) && sameBits(w, written));
}

TEST(Trace, AFunctionalizedTrainingStepGivesTheSameBits) {
  Momentum eager, traced;
  const Tensor x = numbers({8, 3}, 3), y = numbers({8, 1}, 4);
  const Graph g = trace([&](const Tensor& a, const Tensor& b) { return traced.step(a, b); }, std::tuple{x, y},
                        {.functionalize = true});
  g.verify();
  EXPECT_EQ(countOf(g, "aten::sub_.Tensor"), 0) << g.print();
  Tensor expected = eager.step(x, y);
  for (int i = 0; i < 3; ++i) {
    expected = eager.step(x, y);
    EXPECT_TRUE(sameBits(g.run({x, y})[0], expected)) << i << g.print();
  }
  EXPECT_TRUE(sameBits(eager.w, traced.w) && sameBits(eager.velocity, traced.velocity));
}

}  // namespace
}  // namespace shunt
