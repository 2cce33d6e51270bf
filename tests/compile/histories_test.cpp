// The histories of what compiled functions give and read: gradients through them, outside and inside.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;

constexpr int kCalls = 5;

TEST(CompileHistories, ResultsAreDifferentiatedOutside) {
  const Tensor w = numbers({3}).requires_grad_(), v = w.detach().clone().requires_grad_();
  const auto f = [](const Tensor& x, const Tensor& p) { return ((x * p).sin() * p).sum() + (p * 2).exp().sum(); };
  auto fast = compile([&](const Tensor& x) { return f(x, w); });
  const Tensor x = numbers({3}, 8);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor got = fast(x), expected = f(x, v);
    EXPECT_TRUE(same(got, expected));
    (w * 3).sum().backward();  // what else adds to the grad, before and after
    (v * 3).sum().backward();
    got.backward();
    expected.backward();
    EXPECT_TRUE(same(w.grad(), v.grad())) << i;
    EXPECT_THAT(errorOf([&] { got.backward(); }), HasSubstr("backward through the graph a second time"));
    EXPECT_THAT(errorOf([&] { expected.backward(); }), HasSubstr("backward through the graph a second time"));
    const Tensor first = autograd::grad({fast(x)}, {w}, {}, {}, true)[0];
    const Tensor plain = autograd::grad({f(x, v)}, {v}, {}, {}, true)[0];
    EXPECT_TRUE(same(autograd::grad({first.sum()}, {w})[0], autograd::grad({plain.sum()}, {v})[0]));
  }
  EXPECT_GE(fast.counts().hits, 2u * kCalls - 3) << fast.explain();
}

// Such a view requires grad, as its base does, and so does what is made of it; but nothing leads back to the base.
TEST(CompileHistories, ResultsOfViewsThatWereMadeWithoutGradMode) {
  const auto f = [](const Tensor& x) {
    Tensor view;
    {
      const NoGradGuard no_grad;
      view = x.t();
    }
    const Tensor y = where(view.gt(0), view, view * 2);
    return std::pair{y, y.detach()};
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({2, 3}).requires_grad_(), z = numbers({2, 3}).requires_grad_();
    const auto [expected, detached] = f(x);
    const auto [got, got_too] = fast(z);
    EXPECT_TRUE(same(got, expected)) << fast.plan();
    EXPECT_TRUE(same(got_too, detached));
    expected.sum().backward(), got.sum().backward();
    EXPECT_TRUE(same(z.grad(), x.grad()));
  }
  EXPECT_GE(fast.counts().hits, kCalls - 1u);
}

TEST(CompileHistories, ResultsThatGetTheirHistoryThroughAView) {
  const auto f = [](const Tensor& x) {
    Tensor y = ones({2, 3});
    y.t().mul_(x);
    return y;
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({3, 2}).requires_grad_(), z = numbers({3, 2}).requires_grad_();
    const Tensor expected = f(x), got = fast(z);
    EXPECT_TRUE(same(got, expected)) << fast.plan();
    expected.sum().backward(), got.sum().backward();
    EXPECT_TRUE(same(z.grad(), x.grad()));
  }
  EXPECT_GE(fast.counts().hits, kCalls - 1u);
}

struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    return {grads[0] * 5};  // its own idea of a gradient
  }
};

TEST(CompileHistories, HistoriesThatNoGraphGivesRunTheFunction) {
  const Tensor w = numbers({3}).requires_grad_();
  auto custom = compile([&](const Tensor& x) { return Twice::apply(x * w).sum(); });
  auto hooked = compile([&](const Tensor& x) {
    const Tensor y = x * w;
    y.register_hook([](const Tensor& g) { return g * 7; });
    return y.sum();
  });
  auto mixed = compile([&](const Tensor& x) {
    const Tensor y = (x * w).sum();
    y.backward();
    return std::pair{y, w * 2};
  });
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(autograd::grad({custom(ones({3}))}, {w})[0], ones({3}) * 5));
    EXPECT_TRUE(same(autograd::grad({hooked(ones({3}))}, {w})[0], ones({3}) * 7));
    EXPECT_TRUE(same(autograd::grad({mixed(ones({3})).second.sum()}, {w})[0], ones({3}) * 2));
  }
  EXPECT_EQ(custom.counts().hits + hooked.counts().hits + mixed.counts().hits, 0u);
  EXPECT_THAT(custom.explain(), HasSubstr("custom autograd function"));
  EXPECT_THAT(hooked.explain(), HasSubstr("hooks"));
  EXPECT_THAT(mixed.explain(), HasSubstr("others whose graph it hasn't"));
}

struct Cubed : autograd::Function<Cubed> {
  static Tensor forward(autograd::AutogradContext* context, const Tensor& x, double factor) {
    context->save_for_backward({x});
    context->saved_data["factor"] = factor;
    return x * x * x * factor;
  }
  static autograd::variable_list backward(autograd::AutogradContext* context, autograd::variable_list grads) {
    const Tensor x = context->get_saved_variables()[0];
    return {grads[0] * x * x * (3 * context->saved_data["factor"].toDouble()), Tensor()};
  }
};

/// A training step by a custom function, which returns its loss as it is.
Tensor stepWith(const Tensor& w, const Tensor& x) {
  w.mutable_grad() = Tensor();
  const Tensor loss = Cubed::apply(x.mm(w), 0.5).sum();
  loss.backward();
  const NoGradGuard no_grad;
  w.sub_(w.grad() * 0.01);
  return loss;
}

TEST(CompileHistories, AStepWithACustomFunctionReturnsItsLoss) {
  const Tensor plain = numbers({3, 2}).requires_grad_(), w = numbers({3, 2}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return stepWith(w, x); });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({4, 3}, 10 + static_cast<uint64_t>(i));
    const Tensor expected = stepWith(plain, x), loss = fast(x);
    EXPECT_TRUE(same(loss, expected)) << i << fast.explain();
    EXPECT_TRUE(same(w, plain)) << i;
    const std::string error = errorOf([&] { expected.backward(); });
    EXPECT_THAT(error, HasSubstr("a second time"));
    EXPECT_EQ(errorOf([&] { Tensor(loss).backward(); }), error) << i;
  }
  EXPECT_EQ(fast.counts().hits, kCalls - 1u) << fast.explain();
}

TEST(CompileHistories, ACustomFunctionOfACapturedLeaf) {
  const auto step = [](const Tensor& p, const Tensor& x) {
    p.mutable_grad() = Tensor();
    const Tensor loss = (Cubed::apply(p, 2.0) * x).sum();
    loss.backward();
    return std::pair(loss, p.grad() * 1);
  };
  const Tensor plain = numbers({3}).requires_grad_(), w = numbers({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return step(w, x); });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({3}, 10 + static_cast<uint64_t>(i));
    const auto expected = step(plain, x), got = fast(x);
    EXPECT_TRUE(same(got.first, expected.first) && same(got.second, expected.second)) << i << fast.explain();
    EXPECT_TRUE(same(w.grad(), plain.grad())) << i;
  }
}

// The second backward() of this one passes, as nothing was saved: its history goes on.
TEST(CompileHistories, ACustomFunctionThatSavesNothing) {
  const Tensor w = numbers({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) {
    w.mutable_grad() = Tensor();
    const Tensor loss = Twice::apply(w).sum() + x.sum();
    loss.backward();
    return loss;
  });
  for (int i = 0; i < kCalls; ++i) {
    Tensor loss = fast(ones({3}));
    loss.backward();
    EXPECT_TRUE(same(w.grad(), full({3}, 10.0))) << i << fast.explain();
  }
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("the custom autograd function Twice, whose node no graph can make: return the "
                                        "result detached\n"));
}

TEST(CompileHistories, GradientsOfCapturedTensors) {
  const Tensor w = numbers({3}, 1).requires_grad_(), unused = numbers({3}, 2).requires_grad_();
  const auto f = [&](const Tensor& x) {
    const auto grads = autograd::grad({(x * w).sum()}, {w, unused}, {}, {}, false, true);
    return std::pair(grads[0], grads[1].defined());
  };
  auto fast = compile([&](const Tensor& x) { return f(x).first; });
  const Tensor x = numbers({3}, 3);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(same(f(x).first, fast(x))) << i;
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
  EXPECT_FALSE(f(x).second);
}

// Autocast's cache makes one cast of it, whose gradients are added in the lower precision.
TEST(CompileHistories, ALeafThatIsPassedAndCapturedUnderAutocast) {
  const Tensor eager = numbers({3, 4}, 1).requires_grad_(), own = eager.detach().clone().requires_grad_();
  const Tensor x = numbers({2, 4}, 2), y = numbers({5, 4}, 3);
  const auto f = [&](const Tensor& passed, const Tensor& captured) {
    Tensor(captured).mutable_grad() = Tensor();
    const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
    const Tensor loss = linear(x, passed).sum() + linear(y, captured).sum() * 0.3;
    loss.backward();
    return loss.detach();
  };
  auto captures = compile([&](const Tensor& w) { return f(w, own); });
  auto twice = compile([&](const Tensor& w, const Tensor& v) { return f(w, v); });
  for (int i = 0; i < 5; ++i) {
    const Tensor expected = f(eager, eager);
    for (const bool is_captured : {true, false}) {
      EXPECT_TRUE(same(expected, is_captured ? captures(own) : twice(own, own))) << i << is_captured;
      EXPECT_TRUE(same(eager.grad(), own.grad())) << i << is_captured;
    }
  }
}

TEST(CompileHistories, HooksRunTheFunction) {
  const Tensor w = numbers({3}).requires_grad_();
  int called = 0;
  auto fast = compile([&](const Tensor& x) { (x * w).sum().backward(); });
  for (int i = 0; i < 4; ++i) fast(ones({3}));
  EXPECT_GT(fast.counts().hits, 0u);
  const unsigned hook = w.register_hook([&](const Tensor& g) {
    ++called;
    return g;
  });
  for (int i = 0; i < 4; ++i) fast(ones({3}));
  EXPECT_EQ(called, 4);
  w.remove_hook(hook);
}

// What a formula reads of its own result leads on to gradients of gradients, whatever else shows the same elements.
TEST(CompileHistories, GradientsOfGradientsBesideAliasesWithoutHistory) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) {
        const Tensor y = (x * 2).sigmoid(), target = y.detach();
        const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
        return (g.square() + (y - target).square()).sum();
      },
      [](const Tensor& x) {
        const Tensor y = x.exp();
        Tensor view;
        {
          const NoGradGuard no_grad;
          view = y.t();
        }
        const Tensor leaf = y.detach().requires_grad_();
        const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
        return (g * view.t().square()).sum() + leaf.sum();
      },
  };
  for (const auto& f : functions) {
    auto fast = compile(f);
    for (int i = 0; i < kCalls; ++i) {
      const Tensor a = numbers({2, 3}).requires_grad_(), b = numbers({2, 3}).requires_grad_();
      f(a).backward();
      fast(b).backward();
      EXPECT_TRUE(same(b.grad(), a.grad())) << i << fast.graph()->print();
    }
    EXPECT_EQ(fast.counts().hits, kCalls - 1u) << fast.explain();
  }
}

TEST(CompileHistories, ASecondBackwardWhereTheFirstOneFreesNothing) {
  const auto saves_nothing = [](const Tensor& x, const Tensor& y) { return ((x - y) * 0.5).sum() + x.mean(); };
  const auto saves = [](const Tensor& x, const Tensor& y) { return ((x - y) * y).sum(); };
  const auto twice = [](const auto& f, const Tensor& x) {
    const Tensor loss = f(x, numbers({2, 3}, 4));
    loss.backward();
    return errorOf([&] { loss.backward(); });
  };
  auto fast = compile(saves_nothing);
  auto frees = compile(saves);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor a = numbers({2, 3}).requires_grad_(), b = numbers({2, 3}).requires_grad_();
    EXPECT_EQ(twice(saves_nothing, a), "no error");
    EXPECT_EQ(twice(fast, b), "no error") << i;
    EXPECT_TRUE(same(b.grad(), a.grad())) << i;
    EXPECT_THAT(twice(frees, a), HasSubstr("backward through the graph a second time"));
  }
  EXPECT_TRUE(isCompiled(fast(numbers({2, 3}).requires_grad_(), ones({2, 3})))) << fast.explain();
}

// What is saved of a written view leads to its base by itself, beside the view. Recorded where f goes backward itself;
// where its results have the history, no graph gives the order of its nodes.
TEST(CompileHistories, GradientsThroughAWrittenView) {
  const Tensor weights = randn({6}), more = randn({6});
  const auto f = [&](const Tensor& x) {
    const Tensor base = 1 - x * 4, view = base.view({6}), before = view.detach();
    Tensor(view).sigmoid_();
    const Tensor y = maximum(view, before);
    return std::tuple(autograd::grad({y, view}, {x}, {weights, more}, true, true)[0], y, view);
  };
  const auto differentiate = [&](const auto& r) {
    autograd::backward({std::get<0>(r), std::get<1>(r), std::get<2>(r)}, {weights.view({2, 3}), more, weights});
  };
  auto outside = compile(f);
  auto inside = compile([&](const Tensor& x) { differentiate(f(x)); });
  for (int i = 0; i < 20; ++i) {
    const Tensor x = randn({2, 3}), a = x.clone().requires_grad_(), b = x.clone().requires_grad_(),
                 c = x.clone().requires_grad_();
    differentiate(f(a));
    differentiate(outside(b));
    inside(c);
    EXPECT_TRUE(same(b.grad(), a.grad())) << i;
    EXPECT_TRUE(same(c.grad(), a.grad())) << i;
  }
  EXPECT_GT(inside.counts().hits, 10u) << inside.explain();
  EXPECT_THAT(outside.explain(), HasSubstr("differentiates with create_graph, and writes in place"));
}

// The operator that gives them has a first result that nobody wants.
TEST(CompileHistories, SomeOfTheGradientsOfOneOperator) {
  const Tensor x = numbers({4, 3}), w = numbers({3}, 4).requires_grad_(), b = numbers({3}, 5).requires_grad_();
  const auto f = [&](const Tensor& input) {
    const Tensor y = layer_norm(input, {3}, w, b).tanh();
    return autograd::grad({y.square().sum()}, {w, b}, {}, true, true);
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const auto expected = f(x), got = fast(x);
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(got[k], expected[k])) << i << k;
    EXPECT_TRUE(same(autograd::grad({got[0].sum()}, {w})[0], autograd::grad({expected[0].sum()}, {w})[0]));
  }
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
}

// The node of a view is made anew when it is read after a write, be it by what nobody uses; then it comes before what
// is recorded later.
TEST(CompileHistories, ViewsThatAreReadAfterAWriteGetTheirNodesThere) {
  const auto f = [](const Tensor& x) {
    const Tensor view = x.t(), whole = x.view({6});
    {
      const NoGradGuard no_grad;
      whole.mul_(2);
    }
    std::ignore = view * 3;
    return std::pair(view, x * 2);
  };
  const auto detached = [](const Tensor& x) {
    const Tensor view = x.t(), whole = x.view({6});
    {
      const NoGradGuard no_grad;
      whole.mul_(2);
    }
    const Tensor read = (view * 3).detach();
    return std::tuple(view, x * 2, read);
  };
  const auto isFirst = [](const auto& results) {
    const uint64_t other = std::get<1>(results).grad_fn()->sequence_nr();
    return std::get<0>(results).grad_fn()->sequence_nr() < other;
  };
  auto fast = compile(f);
  auto fast_too = compile(detached);
  const auto leaf = [] { return numbers({2, 3}).requires_grad_(); };
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(isFirst(f(leaf())) && isFirst(fast(leaf()))) << i << fast.plan();
    EXPECT_TRUE(isFirst(detached(leaf())) && isFirst(fast_too(leaf()))) << i << fast_too.plan();
  }
  EXPECT_EQ(fast.counts().hits + fast_too.counts().hits, 2 * (kCalls - 1u));
}

}  // namespace
}  // namespace shunt::test
