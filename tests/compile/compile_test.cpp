// compile(): the same results, effects and errors as the function, and how often which of the two ran.
#include "tests/compile/plan_parts.h"
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
  EXPECT_EQ(callsOf(fast, "aten::t"), 0u) << fast.plan();
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
  EXPECT_EQ(callsOf(fast, "trace::accumulate_grad_", PlanCall::kDirectWithoutCopy) +
                callsOf(fast, "trace::accumulate_grad_", PlanCall::kDirect),
            3u)
      << fast.plan();
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
    ASSERT_TRUE(same(expected, got)) << fast.explain();
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
    m.impl("accumulate_grad_", [&](Tensor& self, const Tensor& grad, bool) {
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
  EXPECT_THAT(fast.explain(), HasSubstr("at most 2 kinds of arguments can have graphs (CompileOptions::max_variants)"));
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
  EXPECT_THAT(
      reads.explain(),
      HasSubstr("item(), operator aten::_local_scalar_dense: it returns a number, and compile() records operators, "
                "not numbers. Compute with tensors of fixed sizes instead (where(), masked_fill(), clamp()), or call "
                "item() outside of the compiled function (called from "));
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
