// compile(): the same results, effects and errors as the function, and how often which of the two ran.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <shunt/transforms/fake_tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace shunt::test {
namespace {

using testing::HasSubstr;

constexpr int kCalls = 5;

/// Calls both, with the same arguments again and again, and says how many ran a graph.
template <class F, class... Args>
uint64_t hitsOf(F f, const Args&... args) {
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor expected = f(args...), got = fast(args...);
    EXPECT_TRUE(same(got, expected)) << i << fast.explain();
  }
  return fast.counts().hits;
}

TEST(Compile, RunsAGraphFromTheSecondCallOn) {
  const Tensor w = numbers({3, 4});
  const auto f = [&](const Tensor& x) { return (x.mm(w) * 2).relu() + 1; };
  EXPECT_EQ(hitsOf(f, numbers({2, 3})), kCalls - 1);
}

TEST(Compile, TheFunctionIsNotCalledAnyMore) {
  int calls = 0;
  auto fast = compile([&](const Tensor& x) {
    ++calls;
    return x * 2;
  });
  const Tensor x = numbers({4});
  for (int i = 0; i < kCalls; ++i) fast(x);
  EXPECT_EQ(calls, 2) << "once, and to be recorded";
  EXPECT_EQ(fast.counts().hits, kCalls - 1u);
  EXPECT_EQ(fast.counts().eager, 1u);
}

TEST(Compile, ArgumentsAndResultsOfAllKinds) {
  using Result = std::tuple<Tensor, std::vector<Tensor>, std::optional<Tensor>, std::array<Tensor, 2>, Tensor>;
  const auto f = [](const std::vector<Tensor>& list, const std::pair<Tensor, Tensor>& pair, const Tensor& absent,
                    double factor, bool twice) -> Result {
    EXPECT_FALSE(absent.defined());
    const Tensor sum = list[0] + list[1];
    return {sum, {sum * factor, pair.first}, std::nullopt, {pair.second - 1, twice ? sum * 2 : sum}, Tensor()};
  };
  auto fast = compile(f);
  const std::vector<Tensor> list = {numbers({2}), numbers({2}, 8)};
  const std::pair<Tensor, Tensor> pair = {numbers({3}), numbers({1})};
  for (int i = 0; i < 3 * kCalls; ++i) {
    const double factor = i < kCalls ? 2.5 : 3;
    const bool twice = i >= 2 * kCalls;
    const Result got = fast(list, pair, Tensor(), factor, twice), expected = f(list, pair, Tensor(), factor, twice);
    EXPECT_TRUE(same(std::get<0>(got), std::get<0>(expected)));
    ASSERT_EQ(std::get<1>(got).size(), 2u);
    EXPECT_TRUE(same(std::get<1>(got)[0], std::get<1>(expected)[0]));
    EXPECT_TRUE(std::get<1>(got)[1].is_same(pair.first)) << "a result that is an argument is that argument";
    EXPECT_FALSE(std::get<2>(got).has_value());
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(std::get<3>(got)[k], std::get<3>(expected)[k]));
    EXPECT_FALSE(std::get<4>(got).defined());
  }
  EXPECT_EQ(fast.counts().variants, 3u) << fast.explain();
  EXPECT_EQ(fast.counts().hits, 3 * kCalls - 3u);
}

TEST(Compile, NothingToReturn) {
  Tensor total = zeros({3});
  auto fast = compile([&](const Tensor& x) { total.add_(x); });
  for (int i = 0; i < kCalls; ++i) fast(ones({3}));
  EXPECT_TRUE(same(total, ones({3}) * kCalls));
  EXPECT_EQ(total._version(), kCalls);
  EXPECT_EQ(fast.counts().hits, kCalls - 1u);
}

TEST(Compile, WritesToArgumentsAndViewsOfThem) {
  const auto f = [](const Tensor& x) {
    Tensor row = x.select(0, 1);
    row.mul_(2).add_(1);
    return x.t();
  };
  auto fast = compile(f);
  Tensor a = numbers({3, 2}), b = a.clone();
  for (int i = 0; i < kCalls; ++i) {
    const Tensor expected = f(a), got = fast(b);
    EXPECT_TRUE(same(got, expected));
    EXPECT_TRUE(same(a, b));
    EXPECT_EQ(a._version(), b._version());
    EXPECT_TRUE(got.is_alias_of(b));
  }
  EXPECT_EQ(fast.counts().hits, kCalls - 1u);
}

struct Net {
  Tensor w1, b1, w2;
  Net() {
    manual_seed(3);
    w1 = randn({8, 4}).requires_grad_();
    b1 = randn({8}).requires_grad_();
    w2 = randn({1, 8}).requires_grad_();
  }
  std::vector<Tensor> parameters() const { return {w1, b1, w2}; }
  Tensor loss(const Tensor& x, const Tensor& y) const { return mse_loss(linear(linear(x, w1, b1).tanh(), w2, {}), y); }
};

Tensor sgdStep(Net& net, const Tensor& x, const Tensor& y) {
  for (Tensor& p : net.parameters()) p.mutable_grad() = Tensor();
  const Tensor loss = net.loss(x, y);
  loss.backward();
  const NoGradGuard no_grad;
  for (Tensor p : net.parameters()) p.sub_(p.grad(), 0.1);
  return loss;
}

TEST(Compile, TrainingStepsGiveTheSameWeights) {
  Net plain, other;
  auto fast = compile([&](const Tensor& x, const Tensor& y) { return sgdStep(other, x, y); });
  const Tensor x = numbers({16, 4}), y = numbers({16, 1}, 9);
  for (int i = 0; i < 20; ++i) {
    const Tensor expected = sgdStep(plain, x, y), got = fast(x, y);
    ASSERT_TRUE(same(got, expected)) << i << fast.explain();
    for (size_t k = 0; k < 3; ++k) {
      ASSERT_TRUE(same(plain.parameters()[k], other.parameters()[k]));
      ASSERT_TRUE(same(plain.parameters()[k].grad(), other.parameters()[k].grad()));
      ASSERT_EQ(plain.parameters()[k]._version(), other.parameters()[k]._version());
    }
    EXPECT_EQ(got.is_leaf(), expected.is_leaf());
    EXPECT_TRUE(got.grad_fn().defined());
    EXPECT_EQ(errorOf([&] { got.backward(); }), errorOf([&] { expected.backward(); }));
  }
  // Without grads at first, then with them, then in the graph that was recorded with them.
  EXPECT_GE(fast.counts().hits, 17u) << fast.explain();
}

TEST(Compile, ViewsOfViewsThatShowTheSameAreLeftOut) {
  const Tensor w = numbers({3, 4});
  const auto f = [&](const Tensor& x) {
    const Tensor same = w.t().t(), back = same.t();
    w.add_(1);
    return std::tuple{x.mm(same), x.mm(back.t()), same.t().t().unsqueeze(0).squeeze(0)};
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const auto got = fast(ones({2, 3}));
    EXPECT_TRUE(same(std::get<0>(got), ones({2, 3}).mm(w)));
    EXPECT_TRUE(same(std::get<1>(got), std::get<0>(got)));
    EXPECT_FALSE(std::get<2>(got).is_same(w)) << "a result is a tensor of its own";
    EXPECT_TRUE(std::get<2>(got).is_alias_of(w));
  }
  EXPECT_EQ(count(fast.graph()->print(), "aten::t("), 6);
  EXPECT_EQ(count(fast.plan(), "aten::t("), 0) << fast.plan();
}

TEST(Compile, GradsThatAreAccumulated) {
  Net plain, other;
  const auto step = [](const Net& net, const Tensor& x, const Tensor& y) { net.loss(x, y).backward(); };
  auto fast = compile([&](const Tensor& x, const Tensor& y) { step(other, x, y); });
  const Tensor x = numbers({16, 4}), y = numbers({16, 1}, 9);
  for (int i = 0; i < 6; ++i) {
    step(plain, x, y);
    fast(x, y);
    for (size_t k = 0; k < 3; ++k) ASSERT_TRUE(same(plain.parameters()[k].grad(), other.parameters()[k].grad())) << i;
  }
  EXPECT_GE(fast.counts().hits, 3u) << fast.explain();
  EXPECT_EQ(count(fast.plan(), "trace::accumulate_grad_, without dispatch"), 3) << fast.plan();
}

// What the guard has compared holds for the whole run only where no operator gives the tensor another shape.
TEST(Compile, RegionsLookAtWhatTheFunctionReshapes) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    const Tensor before = w.mul(2).add(x);
    Tensor(w).t_();
    const Tensor between = w.mul(3).add(x.t());
    Tensor(w).t_();
    return std::vector<Tensor>{before, between, w.add(x).mul(4)};
  };
  const Tensor plain = numbers({5, 3}), other = plain.clone(), x = numbers({5, 3}, 2);
  auto fast = compile([&](const Tensor& t) { return f(other, t); });
  for (int i = 0; i < 8; ++i) {
    const std::vector<Tensor> expected = f(plain, x), got = fast(x);
    for (size_t k = 0; k < got.size(); ++k) ASSERT_TRUE(same(expected[k], got[k])) << k << fast.explain();
    ASSERT_EQ(plain._version(), other._version());
  }
}

TEST(Compile, GradsOfOtherKernelsOfTheLibraryTrace) {
  const Tensor w = numbers({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) {
    w.mutable_grad() = Tensor();
    (w * x).backward(x);
  });
  for (int i = 0; i < 3; ++i) fast(ones({3}));
  const uint64_t hits = fast.counts().hits;
  EXPECT_EQ(hits, 2u);
  {
    int calls = 0;
    Library m(Library::Kind::kImpl, "trace", DispatchKey::CPU);
    m.impl("accumulate_grad_", [&](Tensor& self, const Tensor& grad) {
      ++calls;
      self.mutable_grad() = grad * 2;
    });
    for (int i = 0; i < 3; ++i) fast(ones({3}));
    EXPECT_GE(calls, 1) << "a graph that was recorded with it calls it";
    EXPECT_TRUE(same(w.grad(), ones({3}) * 2));
  }
  for (int i = 0; i < 3; ++i) fast(ones({3}));
  EXPECT_TRUE(same(w.grad(), ones({3})));
}

TEST(Compile, ResultsAreDifferentiatedOutside) {
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
TEST(Compile, ResultsOfViewsThatWereMadeWithoutGradMode) {
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

TEST(Compile, ResultsThatGetTheirHistoryThroughAView) {
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

TEST(Compile, HistoriesThatNoGraphGivesRunTheFunction) {
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

TEST(Compile, EachPartOfTheGuardAloneMakesAMiss) {
  auto fast = compile([](const Tensor& a, const Tensor& b) { return a.add(b).mul(2); }, {.max_variants = 64});
  const Tensor a = numbers({4, 4}), b = numbers({4, 4}, 8);
  uint64_t variants = 0;
  const auto misses = [&](const char* what, const Tensor& x, const Tensor& y) {
    const uint64_t eager = fast.counts().eager;
    const Tensor expected = x.add(y).mul(2);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(x, y), expected)) << what;
    EXPECT_EQ(fast.counts().eager, eager + 1) << what;
    EXPECT_EQ(fast.counts().variants, ++variants) << what;
  };
  misses("the first", a, b);
  misses("dtype", a.to(kDouble), b);
  misses("sizes", numbers({5, 4}), numbers({5, 4}));
  misses("strides", a.t(), b);
  misses("one tensor twice", a, a);
  misses("shared memory", a, a.view({4, 4}));
  misses("a 0-dim tensor", a, scalar_tensor(2.0));
  {
    const NoGradGuard no_grad;
    misses("grad mode", a, b);
    misses("requires grad", a, b.clone().requires_grad_());
  }
  {
    const InferenceMode inference;
    misses("inference mode", a, b);
  }
  {
    const AutocastGuard autocast(kCPU, kBFloat16);
    misses("autocast", a, b);
  }
  set_default_dtype(kDouble);
  misses("default dtype", a, b);
  set_default_dtype(kFloat);
  const uint64_t eager = fast.counts().eager;
  for (int i = 0; i < 3; ++i) fast(a, b);
  EXPECT_EQ(fast.counts().eager, eager) << "the first variant is still there";
}

TEST(Compile, NotMoreVariantsThanAskedFor) {
  auto fast = compile([](const Tensor& x) { return x + 1; }, {.max_variants = 2});
  for (size_t dim = 1; dim < 10; ++dim) {
    const std::vector<int64_t> sizes(dim, 2);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(ones(sizes)), ones(sizes) + 1));
  }
  EXPECT_EQ(fast.counts().variants, 2u);
  EXPECT_EQ(fast.counts().hits, 4u);
  EXPECT_THAT(fast.explain(), HasSubstr("no more variants than of 2 kinds"));
}

TEST(Compile, NamedVariablesAndNumbers) {
  Tensor w = numbers({3});
  double factor = 2;
  const auto f = [&](const Tensor& x) { return x * w * factor; };
  auto fast = compile(f, {.captures = {&w}, .scalars = {&factor}});
  const Tensor x = ones({3});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), f(x)));
    w = numbers({3}, static_cast<uint64_t>(round) + 20);
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), f(x)));
    factor += 1;
  }
  EXPECT_EQ(fast.counts().variants, 6u);
}

TEST(Compile, ACapturedTensorMayGetOtherData) {
  const Tensor w = numbers({3}), v = numbers({3}, 8), x = ones({3});
  const auto f = [&](const Tensor& t) {
    w.add_(1);
    return t * w + v;
  };
  auto fast = compile(f);
  for (int i = 0; i < 3; ++i) fast(x);
  w.set_data(v);  // now they share memory
  for (int i = 0; i < 3; ++i) {
    const Tensor before = v.clone(), got = fast(x);
    EXPECT_TRUE(same(v, before + 1));
    EXPECT_TRUE(same(got, v + v));
  }
  EXPECT_EQ(fast.counts().variants, 2u);
}

TEST(Compile, RandomNumbersAreThoseOfTheFunction) {
  const auto f = [](const Tensor& x) { return dropout(x, 0.5, true) + rand_like(x) + Tensor(x.clone()).normal_(0, 1); };
  auto fast = compile(f);
  const Tensor x = ones({100});
  manual_seed(5);
  std::vector<Tensor> expected;
  for (int i = 0; i < kCalls; ++i) expected.push_back(f(x));
  manual_seed(5);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), expected[static_cast<size_t>(i)])) << i;
  EXPECT_EQ(fast.counts().hits, kCalls - 1u);
}

TEST(Compile, SeedingInsideRunsTheFunction) {
  auto fast = compile([](const Tensor& x) {
    manual_seed(3);
    return x + rand({4});
  });
  const Tensor first = fast(ones({4}));
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(ones({4})), first));
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("seeds"));
}

TEST(Compile, FunctionsThatNoGraphCanStandForRun) {
  auto reads = compile([](const Tensor& x) { return x.sum().item<float>() > 0 ? x : -x; });
  auto sizes = compile([](const Tensor& x) { return x.masked_fill(x.gt(0), 1).reshape({-1}); });
  struct PassOn : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  };
  auto enters = compile([](const Tensor& x) {
    PassOn mode;
    const DispatchModeGuard guard(mode);
    return x * 2;
  });
  const Tensor x = numbers({4});
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(reads(x), x.sum().item<float>() > 0 ? x : -x));
    EXPECT_TRUE(same(enters(x), x * 2));
    sizes(x);
  }
  EXPECT_EQ(reads.counts().hits, 0u);
  EXPECT_THAT(reads.explain(), HasSubstr("called on a traced value"));
  EXPECT_EQ(enters.counts().hits, 0u);
  EXPECT_THAT(enters.explain(), HasSubstr("mode"));
  EXPECT_GT(sizes.counts().hits, 0u);
}

TEST(Compile, ErrorsAreTheFunctions) {
  const auto f = [](const Tensor& a, const Tensor& b) { return a.mm(b); };
  auto fast = compile(f);
  const Tensor a = ones({2, 3}), b = ones({4, 5});
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(errorOf([&] { fast(a, b); }), errorOf([&] { f(a, b); }));
  auto throws = compile([](const Tensor& x) {
    if (x.size(0) > 2) throw std::runtime_error("my own");
    return x;
  });
  for (int i = 0; i < kCalls; ++i) EXPECT_THROW(throws(ones({3})), std::runtime_error);
  for (int i = 0; i < kCalls; ++i) EXPECT_NO_THROW(throws(ones({2})));
}

TEST(Compile, UnderModesAndTransformsTheFunctionRuns) {
  const auto f = [](const Tensor& x) { return x.exp().neg(); };
  auto fast = compile(f);
  const Tensor x = numbers({3, 2});
  for (int i = 0; i < 3; ++i) fast(x);
  const uint64_t hits = fast.counts().hits;
  struct Counting : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      ++calls;
      op.callBoxed(stack);
    }
    int calls = 0;
  };
  Counting mode;
  for (int i = 0; i < 1000; ++i) {
    const DispatchModeGuard guard(mode);
    fast(x);
  }
  EXPECT_EQ(mode.calls, 2000) << "it sees every operator";
  EXPECT_TRUE(same(vmap(fast)(x), f(x)));
  EXPECT_EQ(trace(fast, x).nodes().size(), 2u);
  EXPECT_TRUE(same(functionalize(fast)(x), f(x)));
  EXPECT_TRUE(is_fake(fast(to_fake(x))));
  Wrapper::calls = 0;
  EXPECT_TRUE(same(unwrap<Wrapper>(fast(wrap<Wrapper>(x))), f(x)));
  EXPECT_EQ(Wrapper::calls, 2);
  EXPECT_EQ(fast.counts().hits, hits);
  EXPECT_EQ(fast.counts().recorded, 1u);
  EXPECT_TRUE(same(fast(x), f(x)));
  EXPECT_EQ(fast.counts().hits, hits + 1);
}

TEST(Compile, OfTransforms) {
  const auto loss = [](const Tensor& w, const Tensor& x) { return (w * x).sin().sum(); };
  const auto each = vmap(grad(loss), {.in_dims = {std::nullopt, 0}});
  EXPECT_EQ(hitsOf(each, numbers({3}), numbers({5, 3}, 8)), kCalls - 1u);
}

TEST(Compile, ARegistrationPutsAVariantOutOfUse) {
  const auto f = [](const Tensor& x) { return x.exp().neg(); };
  auto fast = compile(f);
  const Tensor x = numbers({3});
  for (int i = 0; i < 3; ++i) fast(x);
  for (int round = 0; round < 3; ++round) {
    {
      Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
      m.impl("neg", [](const Tensor& self) { return self.mul(3); });
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(x), x.exp() * 3));
      EXPECT_GE(fast.counts().invalidated, 1u);
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(x), f(x)));
  }
  // One that has nothing to do with it.
  const uint64_t invalidated = fast.counts().invalidated;
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("cos", [](const Tensor& self) { return self.mul(3); });
  EXPECT_TRUE(same(fast(x), f(x)));
  EXPECT_EQ(fast.counts().invalidated, invalidated);
}

TEST(Compile, AnOverrideOfACompositeCounts) {
  const Tensor w = numbers({2, 3});
  const auto f = [&](const Tensor& x) { return linear(x, w, {}); };
  auto fast = compile(f);
  const Tensor x = numbers({4, 3});
  for (int i = 0; i < 3; ++i) fast(x);
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("linear", [](const Tensor& self, const Tensor&, const std::optional<Tensor>&) { return self * 5; });
  EXPECT_TRUE(same(fast(x), x * 5));
}

/// Calls `f` compiled until a graph runs, then under the registration, and after it: always as `f` itself. `what`: of
/// a failure.
template <class F, class... Args>
void obeys(const char* what, F f, DispatchKey key, const std::function<void(Library&)>& override_,
           const Args&... args) {
  auto fast = compile(f);
  for (int i = 0; i < 6; ++i) fast(args...);
  EXPECT_GT(fast.counts().hits, 0u) << what << fast.explain();
  const Tensor before = f(args...);
  {
    Library unrelated(Library::Kind::kImpl, "aten", key);
    unrelated.impl("cos", [](const Tensor& self) { return self.mul(3); });
    EXPECT_TRUE(same(fast(args...), before)) << what;
  }
  EXPECT_EQ(fast.counts().invalidated, 0u) << what;
  {
    Library m(Library::Kind::kImpl, "aten", key);
    override_(m);
    const Tensor now = f(args...);
    EXPECT_FALSE(same(now, before)) << what;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(args...), now)) << what << i;
    EXPECT_GE(fast.counts().invalidated, 1u) << what;
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(args...), before)) << what << i;
}

// Levels of vmap and grad stand above what records: their composites, and what they ask before they run others.
TEST(Compile, AnOverrideOfWhatALevelPassesCounts) {
  const auto product = [](const Tensor& a, const Tensor& b) { return outer(a, b); };
  const auto share = [](const Tensor& row) { return softmax(row, 0); };
  const auto total = [](const Tensor& row) { return (softmax(row, 0) * row).sum(); };
  const auto mul = [](Library& m) {
    m.impl("mul.Tensor", [](const Tensor& self, const Tensor& other) { return self + other; });
  };
  const auto outer_ = [](Library& m) {
    m.impl("outer", [](const Tensor& self, const Tensor& vec2) { return self.unsqueeze(1) + vec2; });
  };
  const auto softmax_ = [](Library& m) {
    m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 3; });
  };
  const auto dropped = [](const Tensor& t) { return dropout(t, 0.5, false) * 2; };
  const auto dropout_ = [](Library& m) {
    m.impl("dropout", [](const Tensor& self, double, bool) { return self + 3; });
  };
  const Tensor a = numbers({5, 3}), b = numbers({5, 4}, 8), row = numbers({4}, 9);
  const DispatchKey composite = DispatchKey::CompositeImplicitAutograd;
  obeys("outer, mul", vmap(product), DispatchKey::CPU, mul, a, b);
  obeys("outer, mul's gradient", vmap(product), DispatchKey::AutogradCPU, mul, a, b);
  obeys("outer", vmap(product), DispatchKey::CPU, outer_, a, b);
  obeys("outer, composite", vmap(product), composite, outer_, a, b);
  obeys("outer, batching rule", vmap(product), DispatchKey::Batched, outer_, a, b);
  obeys("softmax", vmap(share), composite, softmax_, b);
  obeys("softmax, Autograd", vmap(share), DispatchKey::AutogradCPU, softmax_, b);
  obeys("softmax, batching rule", vmap(share), DispatchKey::Batched, softmax_, b);
  obeys("gradient of softmax", grad(total), composite, softmax_, row);
  obeys("gradients of softmax", vmap(grad(total)), composite, softmax_, b);
  obeys("gradient of vmap of softmax", grad([&](const Tensor& t) { return vmap(total)(t).sum(); }), composite, softmax_,
        b);
  obeys("functionalized softmax", functionalize(share), composite, softmax_, row);
  obeys("functionalized dropout", functionalize(dropped), composite, dropout_, row);
}

TEST(Compile, AnOverrideForAutocastOfWhatALevelTakesApartCounts) {
  const AutocastGuard autocast(kCPU);
  const Tensor a = numbers({5, 3}), b = numbers({5, 4}, 8), w = numbers({4, 2}, 9);
  const auto square_ = [](Library& m) { m.impl("square", [](const Tensor& self) { return self + 3; }); };
  obeys("square", vmap([](const Tensor& row) { return square(row) * 2; }), DispatchKey::AutocastCPU, square_, a);
  const auto softmax_ = [](Library& m) {
    m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 3; });
  };
  obeys("softmax", vmap([](const Tensor& row) { return softmax(row, 0); }), DispatchKey::AutocastCPU, softmax_, b);
  const auto matmul_ = [](Library& m) {
    m.impl("matmul", [](const Tensor& self, const Tensor& other) { return self.sum() + other.sum(0); });
  };
  obeys("matmul", vmap([&](const Tensor& row) { return matmul(row, w); }), DispatchKey::AutocastCPU, matmul_, b);
}

TEST(Compile, BatchingRulesOfOperatorsThatNobodyHasDefined) {
  Library m(Library::Kind::kImpl, "nowhere", DispatchKey::Batched);
  m.impl("nothing", [](const Tensor& self) { return self; });
  EXPECT_EQ(hitsOf(vmap([](const Tensor& row) { return softmax(row, 0); }), numbers({5, 4})), kCalls - 1u);
}

// It is called for what requires grad, though nobody asks for its graph.
TEST(Compile, AProgramsAutogradKernelSeesWhatRequiresGrad) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
  m.impl("exp", [](const Tensor& self) { return self.mul(3); });
  m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 5; });
  const Tensor w = numbers({3, 4}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    return std::pair((x * w).exp().detach(), softmax((x * w).reshape({4, 3}), 0).detach());
  };
  auto fast = compile(f);
  const Tensor x = numbers({3, 4}, 2);
  for (int i = 0; i < 5; ++i) {
    const auto expected = f(x), got = fast(x);
    EXPECT_TRUE(same(expected.first, got.first)) << i << fast.plan();
    EXPECT_TRUE(same(expected.second, got.second)) << i << fast.plan();
    EXPECT_TRUE(same(got.first, (x * w * 3).detach()));
  }
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
}

TEST(Compile, TwoReshapesOfATensorAreTwoTensors) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensor& a) {
    const Tensor turned = a.transpose(0, 1), kept = turned.reshape({6, 2});
    turned.reshape({2, 6}).add_(1);
    const Tensor first = turned.flatten(), second = turned.reshape({-1});
    return std::tuple(kept * 1, first, second);
  };
  auto fast = compile(f);
  const Tensor a = numbers({3, 4});
  for (int i = 0; i < 5; ++i) {
    const auto expected = f(a), got = fast(a);
    EXPECT_TRUE(same(std::get<0>(expected), std::get<0>(got))) << i;
    std::get<1>(got).zero_();
    EXPECT_TRUE(same(std::get<2>(expected), std::get<2>(got))) << i << fast.graph()->print();
  }
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
}

TEST(Compile, GradientsOfCapturedTensors) {
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
TEST(Compile, ALeafThatIsPassedAndCapturedUnderAutocast) {
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

TEST(Compile, HooksRunTheFunction) {
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

TEST(Compile, ThreadsShareVariants) {
  const Tensor w = numbers({16, 16});
  const auto f = [&](const Tensor& x) { return x.mm(w).relu() + 1; };
  auto fast = compile(f);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensor x = ones({4 + t % 2, 16}) * t, expected = f(x);
      for (int i = 0; i < 1'000'000 && fast.counts().variants < 2; ++i) wrong += !same(fast(x), expected);
      for (int i = 0; i < 200; ++i) wrong += !same(fast(x), expected);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fast.counts().variants, 2u);
  EXPECT_GE(fast.counts().hits, 800u);
}

TEST(Compile, BadOptions) {
  const auto f = [](const Tensor& x) { return x; };
  EXPECT_THAT(errorOf([&] { compile(f, {.max_variants = 0}); }), HasSubstr("max_variants is 0"));
  EXPECT_THAT(errorOf([&] { compile(f, {.captures = {nullptr}}); }), HasSubstr("captures"));
}

}  // namespace
}  // namespace shunt::test
