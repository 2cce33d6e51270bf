// Results of a plan that lie in buffers, without tensors (Note [Buffers], src/compile/program/buffers.h): that results
// are eager code's, which ones are taken, and what happens where a run has to leave the buffers.
#include "src/compile/program/plan.h"
#include "src/compile/steps/quick_counts.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/registering.h"
#include "tests/compile/same.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

using compiled::Plan;
using compiled::quickCounts;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

void expectSame(const Tensors& expected, const Tensors& got, const std::string& plan) {
  ASSERT_TRUE(same(expected, got)) << plan;
}

/// Some runs; how many of them stayed in the buffers.
uint64_t buffered(const Plan& plan, const Function& f, const Tensors& in, int runs = 3) {
  const uint64_t before = quickCounts().buffered;
  for (int i = 0; i < runs; ++i) expectSame(f(in), plan.run(in), plan.describe());
  return quickCounts().buffered - before;
}

/// `results`: that lie in buffers. The first run records.
PlanDescription expectBuffers(const Function& f, const Tensors& in, size_t results) {
  const NoGradGuard no_grad;
  const Plan plan(trace(f, in));
  EXPECT_EQ(buffered(plan, f, in, 4), results > 0 ? 3u : 0u) << plan.describe();
  EXPECT_EQ(inBuffers(plan), results) << plan.describe();
  return plan.description();
}

TEST(CompileBuffers, WhatNobodyElseReads) {
  const Tensors in = {numbers({4, 6}, 1), numbers({5, 6}, 2), numbers({5}, 3), numbers({8, 5}, 4), numbers({4, 8}, 5)};
  const auto hidden = [](const Tensors& t) { return addmm(t[2], t[0], t[1].t()); };
  expectBuffers([&](const Tensors& t) { return Tensors{hidden(t).relu().mm(t[3].t())}; }, in, 2);
  expectBuffers([&](const Tensors& t) { return Tensors{_log_softmax(hidden(t).relu().mm(t[3].t()), 1, false)}; }, in,
                3);
  // Of two outputs one is a result in the middle.
  expectBuffers(
      [&](const Tensors& t) {
        const Tensor h = hidden(t).relu();
        return Tensors{h.mm(t[3].t()), h};
      },
      in, 0);
  // An operator that is called wants a tensor, which an input becomes, and gives one.
  expectBuffers([&](const Tensors& t) { return Tensors{hidden(t).relu().cumsum(1).mm(t[3].t())}; }, in, 0);
  expectBuffers([&](const Tensors& t) { return Tensors{(hidden(t).relu() * 2).cumsum(1).exp().mm(t[3].t())}; }, in, 2);
  // So does an output that can't begin at the first element.
  expectBuffers([&](const Tensors& t) { return Tensors{hidden(t).mm(t[3].t()).select(0, 1)}; }, in, 1);
  expectBuffers([&](const Tensors& t) { return Tensors{(hidden(t).sum(IntArrayRef{1}) * 2).mean(IntArrayRef{0})}; }, in,
                3);
}

TEST(CompileBuffers, ViewsOfBuffersAndOfArguments) {
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 5}, 2), numbers({4}, 3), numbers({5, 4}, 4)};
  const auto product = [](const Tensors& t) { return t[0].mm(t[1]); };  // [4, 5]
  const PlanDescription one = expectBuffers(
      [&](const Tensors& t) { return Tensors{product(t).t().mm(t[0]).relu().sum(IntArrayRef{0})}; }, in, 3);
  EXPECT_EQ(one.calls("aten::t", PlanCall::kLate), 1u) << one.text();
  expectBuffers([&](const Tensors& t) { return Tensors{product(t).view({2, 10}).mul(2).exp().sum(IntArrayRef{1})}; },
                in, 2);
  expectBuffers([&](const Tensors& t) { return Tensors{product(t).t().contiguous().mm(t[0])}; }, in, 0);
  expectBuffers(
      [&](const Tensors& t) {
        const Tensor column = product(t).sum(IntArrayRef{1}).unsqueeze(1), wide = column.expand({4, 5});
        return Tensors{(product(t) - wide).mm(t[3]), column.squeeze(1).add(t[2]).exp()};
      },
      in, 3);
  // Of an argument, for a region: no tensor either, where its caller has compared the argument.
  const auto scaled = [](const Tensor& x, const Tensor& rows) {
    return Tensors{x.exp() * rows.unsqueeze(1) + rows.view({4, 1})};
  };
  auto fast = compile(scaled);
  const Tensor x = numbers({4, 6}, 6), rows = numbers({4}, 7);
  for (int i = 0; i < 5; ++i) expectSame(scaled(x, rows), fast(x, rows), fast.plan());
  EXPECT_EQ(callsOf(fast, "", PlanCall::kLate), 2u) << fast.plan();
}

TEST(CompileBuffers, WrittenInPlace) {
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 5}, 2), numbers({5, 3}, 3)};
  const auto inPlace = [](const Tensors& t) {
    Tensor h = t[0].mm(t[1]);
    h.relu_();
    h.mul_(3);
    return Tensors{h.mm(t[2]), t[0] + 1};
  };
  expectBuffers(inPlace, in, 1);
  const auto throughAView = [](const Tensors& t) {
    const Tensor h = t[0].mm(t[1]);
    Tensor turned = h.t();
    turned.mul_(2);
    return Tensors{h.mm(t[2])};
  };
  const NoGradGuard no_grad;
  const Plan plan(trace(throughAView, in));
  buffered(plan, throughAView, in, 4);
}

TEST(CompileBuffers, ShareMemoryWhereTheyAreNotAliveTogether) {
  const Tensors in = {numbers({32, 32}, 1)};
  const Function chain = [](const Tensors& t) {
    Tensor x = t[0];
    for (int i = 0; i < 20; ++i) x = x.mm(t[0]) * 0.1;
    return Tensors{x};
  };
  const PlanDescription plan = expectBuffers(chain, in, 38);
  constexpr size_t kOne = 32 * 32 * 4;
  EXPECT_GE(plan.buffer_bytes, 2 * kOne) << plan.text();
  EXPECT_LE(plan.buffer_bytes, 3 * (kOne + 256)) << plan.text();
  // All are alive until the end.
  const Function all = [](const Tensors& t) {
    Tensors made;
    for (int i = 0; i < 8; ++i) made.push_back(t[0].mm(t[0]) * (i + 1.5));
    Tensor sum = made[7].mm(t[0]);
    for (int i = 7; i-- > 0;) sum = (sum + made[static_cast<size_t>(i)].mm(t[0])).mm(t[0]);
    return Tensors{sum};
  };
  EXPECT_GE(expectBuffers(all, in, 30).buffer_bytes, 8 * kOne);
}

TEST(CompileBuffers, OfEachDtypeAndOfFewElements) {
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t n : {1, 3, 33, 700}) {
      const Tensors in = {numbers({n, 3}, 1).to(dtype), numbers({3, n}, 2).to(dtype)};
      const Function f = [](const Tensors& t) {
        return Tensors{softmax(t[0].mm(t[1]) * 0.5, 1).mm(t[0]).to(t[0].dtype() == kFloat ? kDouble : kFloat)};
      };
      const NoGradGuard no_grad;
      const Plan plan(trace(f, in));
      EXPECT_EQ(buffered(plan, f, in, 4), 3u) << plan.describe();
    }
}

Tensor twiceMm(const Tensor& a, const Tensor& b) { return addmm(zeros({a.size(0), b.size(1)}), a, b) * 2; }

TEST(CompileBuffers, AreLeftWhereAnOperatorHasToBeCalled) {
  const NoGradGuard no_grad;
  Registering poke("mm", &twiceMm);
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 6}, 2), numbers({3}, 3)};
  const Function f = [&](const Tensors& t) {
    const Tensor first = t[0].mm(t[1]).relu(), second = first.mm(t[1]), sums = first.sum(IntArrayRef{1});
    const Tensor poked = poke(t[2]);
    const Tensor third = second.t().mm(first.exp());
    return Tensors{third.mm(t[1]), poked, (sums.unsqueeze(1).expand({4, 6}) * first).mm(t[1])};
  };
  const Plan plan(trace(f, in));
  EXPECT_EQ(buffered(plan, f, in, 4), 3u) << plan.describe();
  EXPECT_GE(inBuffers(plan), 5u) << plan.describe();
  const Tensors expected = poke.during([&] { return f(in); });
  const uint64_t before = quickCounts().buffered;
  const Tensors got = poke.during([&] { return plan.run(in); });
  EXPECT_EQ(quickCounts().buffered, before);
  expectSame(expected, got, plan.describe());
  EXPECT_FALSE(same(got[0], f(in)[0])) << "the kernel that came in the middle is called for what comes after it";
}

// Regions look, too.
TEST(CompileBuffers, ARegionSeesWhatWasRegisteredInTheMiddleOfTheRun) {
  const NoGradGuard no_grad;
  Registering poke("exp", [](const Tensor& x) { return x * 10; });
  const Tensors in = {numbers({4, 6}, 1)};
  const Function f = [&](const Tensors& t) {
    const Tensor before = t[0].exp() + 1;
    return Tensors{before, poke(t[0]).exp() * 2};
  };
  const Plan plan(trace(f, in));
  buffered(plan, f, in, 4);
  ASSERT_EQ(plan.counts().regions, 2u) << plan.describe();
  const Tensors expected = poke.during([&] { return f(in); });
  expectSame(expected, poke.during([&] { return plan.run(in); }), plan.describe());
  EXPECT_FALSE(same(expected[1], f(in)[1]));
}

TEST(CompileBuffers, AreLeftForATargetThatIsNoClass) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& y) {
    return cross_entropy_loss(x.mm(w).relu(), y);
  };
  const Tensor x = numbers({6, 3}, 1), w = numbers({3, 4}, 2), good = tensor({0, 1, 2, 3, 0, 1}, kLong);
  auto fast = compile(f);
  const auto errorOf = [&](const auto& g, const Tensor& y) -> std::string {
    try {
      g(x, w, y);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(same(f(x, w, good), fast(x, w, good)));
  ASSERT_GE(inBuffers(fast), 3u) << fast.plan();
  for (int i = 0; i < 40; ++i) {  // more than a plan with buffers bears
    const Tensor bad = tensor({0, 1, 2, 3, 0, i % 2 == 0 ? 4 : -1}, kLong);
    EXPECT_EQ(errorOf(fast, bad), errorOf(f, bad));
    EXPECT_FALSE(errorOf(fast, bad).empty());
    ASSERT_TRUE(same(f(x, w, good), fast(x, w, good)));
  }
}

TEST(CompileBuffers, AreNotTriedForEverInVain) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 6}, 2)};
  const Function f = [](const Tensors& t) { return Tensors{(t[0].mm(t[1]) * t[0]).mm(t[1])}; };
  const Plan plan(trace(f, in));
  EXPECT_EQ(buffered(plan, f, in, 4), 3u);
  // As sizes, so good; the plan's steps look at strides, too.
  const Tensors turned = {numbers({6, 4}, 3).t(), in[1]};
  EXPECT_EQ(buffered(plan, f, turned, 30), 0u);
  const uint64_t products = quickCounts().products;
  expectSame(f(in), plan.run(in), plan.describe());
  EXPECT_EQ(quickCounts().products - products, 2u) << "without buffers, but with prepared steps";
}

TEST(CompileBuffers, InInferenceMode) {
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 6}, 2)};
  const auto f = [](const Tensor& x, const Tensor& w) { return (x.mm(w).relu() * 2).mm(w); };
  auto fast = compile(f);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(same(f(in[0], in[1]), fast(in[0], in[1])));
  ASSERT_EQ(inBuffers(fast), 2u) << fast.plan();
  const InferenceMode inference;
  for (int i = 0; i < 5; ++i) {
    const Tensor got = fast(in[0], in[1]);
    EXPECT_TRUE(same(f(in[0], in[1]), got));
    EXPECT_TRUE(got.is_inference());
  }
}

TEST(CompileBuffers, OnSeveralThreads) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({32, 64}, 1), numbers({64, 64}, 2)};
  const Function f = [](const Tensors& t) { return Tensors{softmax(t[0].mm(t[1]).relu() * 0.1, 1).mm(t[1])}; };
  const Plan plan(trace(f, in));
  const Tensor expected = f(in)[0];
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) wrong += !same(expected, plan.run(in)[0]);
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CompileBuffers, GradsAreReadWhereTheyAre) {
  const auto step = [](Tensor w, const Tensor& x) {
    w.mutable_grad() = Tensor();
    x.mm(w).relu().sum().backward();
    const NoGradGuard no_grad;
    w.sub_(w.grad(), 0.1);
    return w.grad() * 2;  // read again, and it leaves
  };
  Tensor eager = numbers({6, 5}, 1).requires_grad_(), w = eager.detach().clone().requires_grad_();
  const Tensor x = numbers({4, 6}, 2);
  auto fast = compile([&](const Tensor& t) { return step(w, t); });
  for (int i = 0; i < 6; ++i) {
    const Tensor expected = step(eager, x);
    const uint64_t grads = quickCounts().grads;
    const Tensor got = fast(x);
    ASSERT_TRUE(same(expected, got)) << i << fast.plan();
    ASSERT_TRUE(same(eager, w));
    ASSERT_TRUE(same(eager.grad(), w.grad()));
    ASSERT_EQ(eager.unsafeGetTensorImpl()->version().current(), w.unsafeGetTensorImpl()->version().current());
    if (i > 3) EXPECT_GE(quickCounts().grads - grads, 1u) << fast.plan();
  }
}

// The grad that is read is another one by the time when it is used.
TEST(CompileBuffers, AGradIsReadInItsTurn) {
  const auto step = [](Tensor w, const Tensor& x) {
    (w * x).sum().backward();
    const Tensor first = w.grad();
    w.mutable_grad() = x * 3;
    const NoGradGuard no_grad;
    return Tensors{first * 2, w.grad() + first};
  };
  Tensor eager = numbers({5}, 1).requires_grad_(), w = eager.detach().clone().requires_grad_();
  const Tensor x = numbers({5}, 2);
  auto fast = compile([&](const Tensor& t) {
    w.mutable_grad() = Tensor();
    return step(w, t);
  });
  for (int i = 0; i < 6; ++i) {
    eager.mutable_grad() = Tensor();
    expectSame(step(eager, x), fast(x), fast.plan());
  }
}

}  // namespace
}  // namespace shunt::test
