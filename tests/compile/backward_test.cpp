// Backward passes of compiled functions' results: the gradients that eager code gives, to the bit, by one node.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kCalls = 5;

struct Net {
  Tensor w1, b1, w2;
  Net() {
    manual_seed(3);
    w1 = randn({8, 4}).requires_grad_();
    b1 = randn({8}).requires_grad_();
    w2 = randn({3, 8}).requires_grad_();
  }
  std::vector<Tensor> parameters() const { return {w1, b1, w2}; }
  Tensor forward(const Tensor& x) const { return linear(linear(x, w1, b1).tanh(), w2, {}).sigmoid(); }
};

TEST(CompiledBackward, GivesTheGradsOfEagerCode) {
  Net plain, other;
  auto fast = compile([&](const Tensor& x) { return other.forward(x); });
  const Tensor x = numbers({16, 4}), y = numbers({16, 3}, 9);
  uint64_t hits = 0;
  for (int i = 0; i < 2 * kCalls; ++i) {
    const Tensor expected = plain.forward(x), got = fast(x);
    ASSERT_TRUE(same(got, expected));
    EXPECT_EQ(isCompiled(got), fast.counts().hits > hits) << fast.explain();
    hits = fast.counts().hits;
    EXPECT_EQ(got._version(), expected._version());
    if (i % 3 == 0) {
      mse_loss(expected, y).backward(), mse_loss(got, y).backward();
    } else if (i % 3 == 1) {
      expected.backward(y), got.backward(y);
    } else {
      expected.sum().backward(), got.sum().backward();
    }
    const NoGradGuard no_grad;
    for (size_t k = 0; k < 3; ++k) {
      Tensor a = plain.parameters()[k], b = other.parameters()[k];
      ASSERT_TRUE(same(a.grad(), b.grad())) << i << ' ' << k << fast.plan();
      EXPECT_EQ(a.grad()._version(), b.grad()._version()) << k;
      a.sub_(a.grad(), 0.1), b.sub_(b.grad(), 0.1);
      if (i % 2 == 0) a.mutable_grad() = Tensor(), b.mutable_grad() = Tensor();
    }
  }
  EXPECT_GE(fast.counts().hits, 2u * kCalls - 2) << fast.explain();
}

/// Called once more than it takes to be recorded, on arguments like these.
template <class Fast, class... Args>
void record(const Fast& fast, const Args&... args) {
  for (int i = 0; i < 3; ++i) std::ignore = fast(args...);
}

Tensor leaf(IntArrayRef sizes, uint64_t seed = 7) { return numbers(sizes, seed).requires_grad_(); }

// What eager code saves is what the graph's node saves: the operands of a product, the result of sigmoid; not the
// operands of a sum.
TEST(CompiledBackward, SeesWhatWasChangedSinceAsEagerCodeDoes) {
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return (x * w + b).sigmoid(); };
  auto fast = compile(f);
  record(fast, leaf({4}), leaf({4}), leaf({4}));
  const auto changed = [&](const auto& g, int which) {
    const Tensor in[] = {leaf({4}), leaf({4}, 8), leaf({4}, 9)};
    const Tensor y = g(in[0], in[1], in[2]);
    {
      const NoGradGuard no_grad;
      Tensor(which < 3 ? in[which] : y).add_(1);
    }
    return errorOf([&] { y.sum().backward(); });
  };
  EXPECT_TRUE(isCompiled(fast(leaf({4}), leaf({4}), leaf({4}))));
  for (int which = 0; which < 4; ++which) {
    const std::string expected = changed(f, which), got = changed(fast, which);
    EXPECT_THAT(expected, HasSubstr(which == 2 ? "no error" : "modified by an inplace operation"));
    EXPECT_THAT(got, HasSubstr(which == 2 ? "no error" : "modified by an inplace operation")) << which;
  }
}

TEST(CompiledBackward, FreesWhatItSavedAndSaysSo) {
  const auto f = [](const Tensor& x) { return (x * 2).exp(); };
  auto fast = std::make_unique<decltype(compile(f))>(compile(f));
  record(*fast, leaf({4}));
  const Tensor x = leaf({4});
  Tensor y = (*fast)(x);
  ASSERT_TRUE(isCompiled(y));
  fast.reset();  // the node needs no function
  y.sum().backward({}, true);
  EXPECT_TRUE(same(x.grad(), (x * 2).exp().detach() * 2));
  y.sum().backward();
  EXPECT_TRUE(same(x.grad(), (x * 2).exp().detach() * 2 + (x * 2).exp().detach() * 2));
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("CompiledFunctionBackward has freed what it saved"));
}

TEST(CompiledBackward, WhatSavesNothingGoesTwice) {
  auto fast = compile([](const Tensor& x) { return x * 2 + 1; });
  record(fast, leaf({4}));
  const Tensor x = leaf({4}), y = fast(x);
  ASSERT_TRUE(isCompiled(y));
  y.sum().backward();
  y.sum().backward();
  EXPECT_TRUE(same(x.grad(), ones({4}) * 4));
}

TEST(CompiledBackward, GradientsThatLieInOtherWays) {
  const auto f = [](const Tensor& x, const Tensor& w) { return x.mm(w).tanh(); };
  auto fast = compile(f);
  record(fast, leaf({3, 4}), leaf({4, 5}));
  const Tensor gradients[] = {numbers({3, 5}),
                              numbers({5, 3}).t(),
                              numbers({1, 5}).expand({3, 5}),
                              numbers({3, 1}).expand({3, 5}),
                              numbers({3, 10}).slice(1, 0, 10, 2),
                              ones({}).expand({3, 5})};
  for (int round = 0; round < 3; ++round)
    for (const Tensor& g : gradients) {
      const Tensor a[] = {leaf({3, 4}), leaf({4, 5}, 8)}, b[] = {leaf({3, 4}), leaf({4, 5}, 8)};
      f(a[0], a[1]).backward(g);
      const Tensor y = fast(b[0], b[1]);
      ASSERT_TRUE(isCompiled(y));
      y.backward(g);
      for (int i = 0; i < 2; ++i) EXPECT_TRUE(same(b[i].grad(), a[i].grad())) << g.strides();
    }
  std::vector<std::string> passes;
  for (const PlanDescription& d : fast.plans()) passes.push_back(d.of);
  EXPECT_THAT(passes, testing::ElementsAre("", "backward of a gradient with strides [5, 1]",
                                           "backward of a gradient with strides [0, 0]", "backward of others"));
  EXPECT_TRUE(isCompiled(fast(leaf({3, 4}), leaf({4, 5})))) << "the graph was never run again";
}

// Of what size the dimensions are: sum() expands its gradient.
TEST(CompiledBackward, ASumsGradientIsUsual) {
  auto fast = compile([](const Tensor& x) { return x * 2 + x.sin(); });
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{4, 1}, {1, 4}, {4, 3}, {1}, {}, {2, 1, 3}})
    for (int i = 0; i < 4; ++i) {
      const Tensor y = fast(leaf(sizes));
      EXPECT_EQ(isCompiled(y), i > 0) << fast.explain();
      y.sum().backward();
    }
  EXPECT_THAT(fast.explain(), Not(HasSubstr("run again for backward()")));
}

TEST(CompiledBackward, UnderAutocastAndModesAsEagerCode) {
  const auto f = [](const Tensor& x, const Tensor& w) { return x.mm(w).relu(); };
  auto fast = compile(f);
  record(fast, leaf({3, 4}), leaf({4, 5}));
  const auto gradient = [&](const auto& g) {
    const Tensor x = leaf({3, 4}), w = leaf({4, 5}, 8);
    const Tensor y = g(x, w);
    const AutocastGuard autocast(kCPU);
    y.backward(numbers({3, 5}));
    return w.grad();
  };
  EXPECT_TRUE(same(gradient(fast), gradient(f)));
  const auto seen = [&](const auto& g) {
    struct Names : DispatchMode {
      void handle(const OperatorHandle& op, Stack* stack) override {
        names.push_back(op.operator_name().str());
        op.callBoxed(*stack);
      }
      std::vector<std::string> names;
    };
    const Tensor x = leaf({3, 4}), w = leaf({4, 5}, 8);
    const Tensor y = g(x, w);
    Names mode;
    const DispatchModeGuard on(mode);
    y.backward(numbers({3, 5}));
    return mode.names;
  };
  EXPECT_THAT(seen(fast), testing::IsSupersetOf({"aten::threshold_backward", "aten::mm"}));
}

TEST(CompiledBackward, KernelsThatCameInBetweenAreCalled) {
  auto fast = compile([](const Tensor& x) { return x.sigmoid() * 2; });
  record(fast, leaf({4}));
  const Tensor x = leaf({4}), y = fast(x);
  ASSERT_TRUE(isCompiled(y));
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("sigmoid_backward", [](const Tensor& grad, const Tensor&) { return grad * 100; });
    y.sum().backward();
    EXPECT_TRUE(same(x.grad(), ones({4}) * 200));
  }
  const Tensor z = leaf({4}), plain = leaf({4});
  fast(z).sum().backward();
  (plain.sigmoid() * 2).sum().backward();
  EXPECT_TRUE(same(z.grad(), plain.grad()));
}

TEST(CompiledBackward, HooksOfResultsAndArguments) {
  auto fast = compile([](const Tensor& x) { return x.exp() * 2; });
  record(fast, leaf({4}));
  const Tensor x = leaf({4});
  int calls = 0;
  x.register_hook([&](const Tensor& g) {
    ++calls;
    return g * 3;
  });
  const Tensor y = fast(x);
  ASSERT_TRUE(isCompiled(y)) << fast.explain();
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 5; });
  y.sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(same(x.grad(), ones({4}) * 5 * 2 * x.detach().exp() * 3));
  EXPECT_TRUE(y.grad().defined());
}

TEST(CompiledBackward, FunctionsOfEachOthersResults) {
  auto first = compile([](const Tensor& x) { return x.exp() * 2; });
  auto second = compile([](const Tensor& x) { return x.tanh() + 1; });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({4}), plain = leaf({4});
    second(first(x)).sum().backward();
    ((plain.exp() * 2).tanh() + 1).sum().backward();
    EXPECT_TRUE(same(x.grad(), plain.grad()));
  }
  EXPECT_GE(first.counts().hits, kCalls - 1u) << first.explain();
  EXPECT_GE(second.counts().hits, kCalls - 1u) << second.explain();
  EXPECT_TRUE(isCompiled(second(first(leaf({4})))));
}

TEST(CompiledBackward, SaysWhyThereIsNone) {
  const Tensor w = leaf({4});
  const auto why = [](const auto& f) {
    auto fast = compile(f);
    record(fast, leaf({4}));
    EXPECT_GE(fast.counts().hits, 1u);
    const std::string text = fast.explain();
    const size_t at = text.find("not compiled: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(why([](const Tensor& x) { return x * 2; }), "");
  EXPECT_EQ(why([](const Tensor& x) { return std::pair{x * 2, (x * 3).detach()}; }), "");
  EXPECT_THAT(why([](const Tensor& x) { return std::pair{(x * 2).exp(), (x * 2).sin()}; }), "");
  EXPECT_EQ(why([](const Tensor& x) { return (x * 2).view({2, 2}).t()[0]; }), "");
  EXPECT_THAT(why([](const Tensor& x) { return (x * 2).chunk(2)[1]; }), HasSubstr("is a view"));
  EXPECT_THAT(why([](const Tensor& x) { return (x * 2).view({2, 2}).relu_(); }), HasSubstr("is a view"));
  EXPECT_THAT(why([](const Tensor& x) { return x.view({2, 2}); }), HasSubstr("shares memory with what"));
  EXPECT_THAT(why([n = zeros({4})](const Tensor& x) {
                Tensor(n).add_(1);
                return x * n;
              }),
              HasSubstr("reads a tensor that it was given and writes"));
}

TEST(CompiledBackward, DropoutHasTheSameMaskInItsGradientsGradient) {
  const auto f = [](const Tensor& x) { return dropout(x.exp(), 0.5, true); };
  auto fast = compile(f);
  record(fast, leaf({64}));
  EXPECT_TRUE(isCompiled(fast(leaf({64}))));
  const auto second = [](const auto& g) {
    const Tensor x = leaf({64});
    manual_seed(5);
    const Tensor y = g(x);
    std::ignore = rand({3});
    const Tensor first = autograd::grad({y.sum()}, {x}, {}, {}, true)[0];
    return std::pair{autograd::grad({first.sum()}, {x})[0], rand({3})};
  };
  const auto [expected, after] = second(f);
  const auto [got, after_too] = second(fast);
  EXPECT_TRUE(same(got, expected));
  EXPECT_TRUE(same(after, after_too)) << "the generator goes on where eager code's does";
}

// reshape() of what doesn't lie in order copies: what it copied is written then, the copy is not.
TEST(CompiledBackward, CopiesOfWhatIsWrittenAfterwards) {
  const Tensor c = numbers({2, 3}, 8);
  const auto f = [&](const Tensor& x) {
    Tensor h = c * 2;
    const Tensor y = x * h.t().reshape({6});
    h.add_(100);
    return y + h.sum();
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({6}), plain = leaf({6});
    const Tensor y = fast(x);
    EXPECT_EQ(isCompiled(y), i > 0) << fast.explain();
    y.sum().backward();
    f(plain).sum().backward();
    EXPECT_TRUE(same(x.grad(), plain.grad()));
  }
}

TEST(CompiledBackward, WhatNobodyNeedsThrowsAsEver) {
  const Tensor w = numbers({3, 4});
  const auto f = [&](const Tensor& x, const Tensor& index) {
    std::ignore = w.index_select(0, index);
    return x * 2;
  };
  auto fast = compile(f);
  record(fast, leaf({4}), zeros({2}, kLong));
  const uint64_t hits = fast.counts().hits;
  const Tensor wrong = ones({2}, kLong) * 7;
  EXPECT_EQ(errorOf([&] { fast(leaf({4}), wrong); }), errorOf([&] { f(leaf({4}), wrong); }));
  EXPECT_THAT(errorOf([&] { fast(leaf({4}), wrong); }), testing::Not(HasSubstr("no error")));
  EXPECT_GT(fast.counts().hits, hits);
}

/// Each way of going backward that has to run the graph again.
const std::pair<const char*, std::function<Tensor(const Tensor& y, const Tensor& of)>> kAgain[] = {
    {"create_graph",
     [](const Tensor& y, const Tensor& of) { return autograd::grad({(y * y).sum()}, {of}, {}, {}, true)[0].detach(); }},
    {"autocast",
     [](const Tensor& y, const Tensor& of) {
       const AutocastGuard autocast(kCPU);
       return autograd::grad({y}, {of}, {numbers(y.sizes())})[0];
     }},
};

TEST(CompiledBackward, WhatWasGivenHasToBeAsItWasWhenTheGraphRunsAgain) {
  const auto f = [](const Tensor& x, const Tensor& b) { return (x + b).exp(); };
  const auto increment = [](const Tensor& t) {
    const NoGradGuard no_grad;
    Tensor(t).add_(1);
  };
  const std::pair<std::function<void(const Tensor&, const Tensor&)>, const char*> changes[] = {
      {[&](const Tensor& x, const Tensor&) { increment(x); }, "modified by an inplace operation"},
      {[&](const Tensor&, const Tensor& b) { increment(b); }, "modified by an inplace operation"},
      {[](const Tensor& x, const Tensor&) { Tensor(x).requires_grad_(false); }, "requires grad has changed since"},
  };
  for (const bool captured : {false, true})
    for (const auto& [name, gradient] : kAgain) {
      SCOPED_TRACE(name);
      Tensor b = leaf({3}, 9);
      const auto make = [&] {
        auto fast = compile(
            [f, own = b, captured](const Tensor& x, const Tensor& given) { return f(x, captured ? own : given); });
        record(fast, leaf({4, 3}), b);
        return fast;
      };
      EXPECT_TRUE(same(gradient(make()(leaf({4, 3}), b), b), gradient(f(leaf({4, 3}), b), b)));
      for (const auto& [change, error] : changes) {
        b = leaf({3}, 9);
        const Tensor x = leaf({4, 3}), y = make()(x, b);
        ASSERT_TRUE(isCompiled(y));
        change(x, b);
        EXPECT_THAT(errorOf([&] { gradient(y, b); }), HasSubstr(error));
      }
      b = leaf({3}, 9);
      const Tensor y = make()(leaf({4, 3}), b);
      Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
      m.impl("exp", [](const Tensor& t) { return t * 100; });
      EXPECT_THAT(errorOf([&] { gradient(y, b); }), HasSubstr("a registration for an operator that it calls"));
    }
}

TEST(CompiledBackward, OneTensorAsTwoArguments) {
  const auto f = [](const Tensor& x, const Tensor& z) { return x.exp() * z; };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i)
    for (const auto& [name, gradient] : kAgain) {
      const Tensor x = leaf({4, 3});
      EXPECT_TRUE(same(gradient(fast(x, x), x), gradient(f(x, x), x))) << name;
      EXPECT_TRUE(same(autograd::grad({fast(x, x).sum()}, {x})[0], autograd::grad({f(x, x).sum()}, {x})[0]));
    }
  EXPECT_TRUE(isCompiled(fast(leaf({4, 3}), leaf({4, 3}))) || fast.counts().hits > 0u);
}

// The first time the function's graph is run again; then it keeps its history.
TEST(CompiledBackward, GradientsOfGradientsHaveTheSameBits) {
  const auto f = [](const Tensor& x) { return x.exp(); };
  auto fast = compile(f);
  record(fast, leaf({64}));
  EXPECT_TRUE(isCompiled(fast(leaf({64}))));
  const auto second = [](const auto& g) {
    const Tensor x = leaf({64});
    const Tensor before = x * x, y = g(x), after = (x * x).sin();
    const Tensor first = autograd::grad({(before * y * after).sum()}, {x}, {}, {}, true)[0];
    return autograd::grad({(first * numbers({64}, 3)).sum()}, {x})[0];
  };
  const Tensor expected = second(f);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(second(fast), expected)) << i;
  EXPECT_FALSE(isCompiled(fast(leaf({64}))));
  EXPECT_THAT(fast.explain(), HasSubstr("has been run again for backward() too often"));
}

TEST(CompiledBackward, AFunctionWhoseGraphRunsAgainAndAgainKeepsItsHistory) {
  const auto f = [](const Tensor& x) { return x.exp() * 2; };
  auto fast = compile(f);
  record(fast, leaf({4, 3}));
  for (int i = 0; i < 30; ++i) {
    const Tensor x = leaf({4, 3}), plain = leaf({4, 3});
    const Tensor y = fast(x), expected = f(plain);
    const AutocastGuard autocast(kCPU);
    y.backward(numbers({4, 3}));
    expected.backward(numbers({4, 3}));
    EXPECT_TRUE(same(x.grad(), plain.grad()));
  }
  EXPECT_FALSE(isCompiled(fast(leaf({4, 3}))));
  EXPECT_GE(fast.counts().hits, 28u) << fast.explain();
}

TEST(CompiledBackward, OfSomeInputsAfterEachOther) {
  const auto f = [](const Tensor& x, const Tensor& z) { return x.exp() + z.sin(); };
  auto fast = compile(f);
  record(fast, leaf({4}), leaf({4}));
  const Tensor x = leaf({4}), z = leaf({4}, 8), y = fast(x, z);
  ASSERT_TRUE(isCompiled(y));
  EXPECT_TRUE(same(autograd::grad({y.sum()}, {x})[0], x.exp().detach()));
  EXPECT_TRUE(same(autograd::grad({y.sum()}, {z})[0], z.cos().detach()));
}

TEST(CompiledBackward, ArgumentsThatCopiesWereMadeOf) {
  for (const auto copied :
       {+[](const Tensor& x) { return x.t().contiguous(); }, +[](const Tensor& x) { return x.t().reshape({6}); },
        +[](const Tensor& x) { return x.to(kDouble); }}) {
    const auto f = [&](const Tensor& x, const Tensor& z) { return z * copied(x); };
    auto fast = compile(f);
    const Tensor like = copied(numbers({2, 3}));
    record(fast, numbers({2, 3}), leaf(like.sizes()));
    const Tensor x = numbers({2, 3}), z = leaf(like.sizes()), y = fast(x, z);
    ASSERT_TRUE(isCompiled(y));
    Tensor(x).add_(1);
    y.sum().backward();
    EXPECT_TRUE(same(z.grad(), copied(numbers({2, 3})).to(z.dtype()).contiguous()));
  }
}

TEST(CompiledBackward, InferenceTensorsKeepTheHistory) {
  Tensor x;
  {
    const InferenceMode inference;
    x = numbers({4});
  }
  const auto f = [](const Tensor& t, const Tensor& w) { return dropout(t + w, 0.5, true); };
  auto fast = compile(f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(errorOf([&] { fast(x, leaf({4})).sum().backward(); }), "no error");
  EXPECT_THAT(fast.explain(), HasSubstr("inference tensor"));
}

// Their sum lies as the one does that the engine adds to, which later sums over it see.
TEST(CompiledBackward, GradientsThatLieInDifferentWaysKeepTheHistory) {
  const auto f = [](const Tensor& h) { return (layer_norm(h, {48}) + h).tanh().t().clone(); };
  auto fast = compile(f);
  const Tensor x = numbers({64, 48});
  for (int i = 0; i < kCalls; ++i) {
    const Tensor b = leaf({48}), plain = leaf({48});
    (fast(x + b) * numbers({48, 64}, 4)).sum().backward();
    (f(x + plain) * numbers({48, 64}, 4)).sum().backward();
    EXPECT_TRUE(same(b.grad(), plain.grad()));
  }
  EXPECT_THAT(fast.explain(), HasSubstr("lie in different ways"));
}

TEST(CompiledBackward, ResidualsWithGradientsInAnotherLayout) {
  const auto f = [](const Tensor& h) { return layer_norm(h, {48}) + h; };
  auto fast = compile(f);
  const Tensor x = numbers({64, 48});
  for (int i = 0; i < kCalls; ++i)
    for (const bool turned : {false, true}) {
      const Tensor b = leaf({48}), plain = leaf({48}), g = turned ? numbers({48, 64}).t() : numbers({64, 48});
      fast(x + b).backward(g);
      f(x + plain).backward(g);
      EXPECT_TRUE(same(b.grad(), plain.grad())) << turned;
    }
}

TEST(CompiledBackward, AnArgumentThatTheResultIsWrittenIntoIsFreed) {
  auto fast = compile([](const Tensor& x, const Tensor& v) { return x + v * 2; });
  record(fast, numbers({4}), leaf({4}));
  Tensor x = numbers({4});
  const weak_intrusive_ptr<TensorImpl> argument(x.getIntrusivePtr());
  {
    const Tensor y = fast(x, leaf({4}));
    ASSERT_TRUE(isCompiled(y));
    x.add_(y);
  }
  x = Tensor();
  EXPECT_TRUE(argument.expired());
}

TEST(CompiledBackward, AfterCallsWithoutGradMode) {
  const auto f = [](const Tensor& x) { return x.exp() * 2; };
  auto fast = compile(f);
  const Tensor a = leaf({4}) * 1;
  {
    const NoGradGuard no_grad;
    record(fast, a);
    EXPECT_GE(fast.counts().hits, 1u) << "nothing is recorded there";
  }
  for (int i = 0; i < 3; ++i) {
    const Tensor y = fast(leaf({4}) * 1);
    EXPECT_EQ(isCompiled(y), i > 0) << fast.explain();
  }
}

TEST(CompiledBackward, OnSeveralThreads) {
  const Tensor w = numbers({8, 8});
  auto fast = compile([&](const Tensor& x) { return x.mm(w).tanh() * 2; });
  record(fast, leaf({4, 8}));
  const Tensor plain = leaf({4, 8});
  (plain.mm(w).tanh() * 2).sum().backward();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = plain.detach().clone().requires_grad_();
        fast(x).sum().backward();
        wrong += !same(x.grad(), plain.grad());
      }
    });
  // One result, differentiated by all of them.
  const Tensor y = fast(plain.detach().clone().requires_grad_());
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) y.backward(ones({4, 8}), true);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace shunt::test
