// Steps of plans that are done without their operators' tables: that results are the operators', that the quick ways
// are taken, and that they are left where something else has to be called or tensors lie in another way.
#include "src/compile/program/plan.h"
#include "src/compile/steps/quick_counts.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/registering.h"
#include "tests/compile/same.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace shunt::test {
namespace {

using compiled::Plan;
using compiled::QuickCounts;
using compiled::quickCounts;
using Tensors = std::vector<Tensor>;

/// What one more run does quickly. The first run records, so it does nothing so.
QuickCounts countsOf(const Plan& plan, const Graph& graph, const Tensors& in) {
  plan.run(in);
  const QuickCounts before = quickCounts();
  const Tensors got = plan.run(in);
  const QuickCounts after = quickCounts();
  const Tensors expected = graph.run(in);
  EXPECT_TRUE(same(expected, got)) << "\n" << plan.describe();
  return {.products = after.products - before.products,
          .reductions = after.reductions - before.reductions,
          .fills = after.fills - before.fills,
          .rows = after.rows - before.rows,
          .views = after.views - before.views,
          .grads = after.grads - before.grads};
}

Tensor drawn(IntArrayRef sizes, ScalarType dtype, uint64_t seed) { return numbers(sizes, seed).to(dtype); }

TEST(CompileQuick, ProductsOfEachLayout) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t rows : {1, 2, 8, 33})
      for (const int64_t inner : {1, 10, 64})
        for (const int64_t columns : {1, 5, 128}) {
          const Tensors in = {drawn({rows, inner}, dtype, 1),    drawn({inner, columns}, dtype, 2),
                              drawn({inner, rows}, dtype, 3),    drawn({columns, inner}, dtype, 4),
                              drawn({columns}, dtype, 5),        drawn({rows, columns}, dtype, 6),
                              drawn({rows, 2 * inner}, dtype, 7)};
          const auto f = [](const Tensors& t) {
            const Tensor half = t[6].narrow(1, 0, t[0].size(1));  // rows that are further apart
            return Tensors{t[0].mm(t[1]),
                           t[2].t().mm(t[1]),
                           t[0].mm(t[3].transpose(0, 1)),
                           t[2].permute({1, 0}).mm(t[3].t()),
                           half.mm(t[1]),
                           addmm(t[4], t[0], t[1]),
                           addmm(t[5], t[0], t[3].t(), 0.5, -2),
                           addmm(t[4], half, t[1], 0, 3),
                           t[0].t().t().mm(t[1]).t().mm(t[0])};
          };
          const Graph graph = trace(f, in);
          const Plan plan(graph);
          const QuickCounts counts = countsOf(plan, graph, in);
          EXPECT_EQ(counts.products, 10u) << plan.describe();
          EXPECT_EQ(counts.views, callsOf(plan, "", PlanCall::kLate)) << plan.describe();
          if (rows > 1 && inner > 1 && columns > 1) EXPECT_GE(counts.views, 5u) << plan.describe();
        }
}

// Bits, versions and what tensors show are the operators', and so is what of a product's operands is written between.
TEST(CompileQuick, ViewsOfWhatIsWrittenMeanwhile) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensors& t) {
    const Tensor w = t[0].t();
    const Tensor first = t[1].mm(w);
    Tensor(t[0]).mul_(2);
    return Tensors{first, t[1].mm(w)};
  };
  const auto inputs = [] { return Tensors{numbers({5, 6}, 1), numbers({4, 6}, 2)}; };
  const Graph graph = trace(f, inputs());
  const Plan plan(graph);
  for (int i = 0; i < 3; ++i) {
    const Tensors a = inputs(), b = inputs(), expected = graph.run(a), got = plan.run(b);
    EXPECT_TRUE(same(expected, got)) << plan.describe();
    EXPECT_TRUE(same(a[0], b[0]));
    EXPECT_EQ(a[0]._version(), b[0]._version());
  }
}

// Sizes are the graph's, strides and keys may be others.
TEST(CompileQuick, OperandsThatLieInAnotherWayAreMultipliedByTheOperator) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({4, 6}, 1), numbers({5, 6}, 2), numbers({5}, 3)};
  const Graph graph = trace([](const Tensors& t) { return addmm(t[2], t[0], t[1].t()); }, in);
  const Plan plan(graph);
  EXPECT_EQ(countsOf(plan, graph, in).products, 1u);
  const Tensors others[] = {{numbers({6, 4}).t(), in[1], in[2]},
                            {in[0], numbers({6, 5}).t(), in[2]},
                            {in[0], in[1], numbers({10}).as_strided({5}, {2})},
                            {numbers({4, 9}).narrow(1, 1, 6), in[1], in[2]}};
  for (const Tensors& other : others) EXPECT_EQ(countsOf(plan, graph, other).products, 0u);
  EXPECT_EQ(countsOf(plan, graph, {in[0].clone(), numbers({7, 6}).narrow(0, 2, 5), in[2]}).products, 1u);
  const InferenceMode inference;
  EXPECT_EQ(countsOf(plan, graph, in).products, 0u);
}

TEST(CompileQuick, ReductionsAlongEachDimension) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{1, 128}, {8, 128}, {300, 10}, {128, 1}, {1, 1}, {600, 600}}) {
      const Tensors in = {drawn(sizes, dtype, 1), drawn({sizes[1], sizes[0]}, dtype, 2), drawn({3, 4, 5}, dtype, 3),
                          zeros({2, 7}).to(dtype).neg()};
      const auto f = [](const Tensors& t) {
        const Tensor turned = t[1].t();
        return Tensors{t[0].sum(IntArrayRef{0}, true),  t[0].sum(IntArrayRef{-1}),
                       t[0].sum(IntArrayRef{0, 1}),     turned.sum(IntArrayRef{0}),
                       turned.mean(IntArrayRef{1}),     t[2].sum(IntArrayRef{0, 2}, true),
                       t[2].mean(IntArrayRef{1}, true), t[3].sum(IntArrayRef{0}),
                       t[0].mean(IntArrayRef{0}),       t[0].unsqueeze(0).sum(IntArrayRef{0})};
      };
      const Graph graph = trace(f, in);
      const Plan plan(graph);
      EXPECT_EQ(countsOf(plan, graph, in).reductions, 10u) << plan.describe();
      // Of other strides, and no number at all.
      const Tensors others = {drawn({sizes[1], sizes[0]}, dtype, 4).t(), in[1], in[2] * NAN, in[3]};
      const bool lie_so = others[0].strides() == in[0].strides();
      EXPECT_EQ(countsOf(plan, graph, others).reductions, lie_so ? 10u : 5u) << plan.describe();
    }
}

// With signed zeros, infinities and subnormal numbers.
TEST(CompileQuick, SumsOfOneRow) {
  const NoGradGuard no_grad;
  for (const int64_t columns : {8, 40, 77, 1000})
    for (const ScalarType dtype : {kFloat, kDouble}) {
      Tensors in = {drawn({1, columns}, dtype, 1), drawn({3, 1, columns}, dtype, 2)};
      for (Tensor& t : in) t.select(-1, 0).fill_(-0.0), t.select(-1, 3).fill_(-INFINITY), t.select(-1, 5).fill_(1e-42);
      const auto f = [](const Tensors& t) {
        return Tensors{t[0].sum(IntArrayRef{0}), t[0].mean(IntArrayRef{0}, true), t[1].sum(IntArrayRef{1})};
      };
      const Graph graph = trace(f, in);
      EXPECT_EQ(countsOf(Plan(graph), graph, in).reductions, 3u);
    }
}

TEST(CompileQuick, ReductionsThatAreLeftToTheirOperators) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({4, 6}, 1), arange(6), zeros({0, 3}), numbers({4, 6}, 2).to(kHalf)};
  const auto f = [](const Tensors& t) {
    return Tensors{t[0].sum(kDouble),        t[0].sum(IntArrayRef{0}, false, kDouble),
                   t[1].sum(IntArrayRef{0}), t[2].sum(IntArrayRef{0}),
                   t[3].sum(IntArrayRef{1}), t[2].sum()};
  };
  const Graph graph = trace(f, in);
  EXPECT_EQ(countsOf(Plan(graph), graph, in).reductions, 0u);
}

// The result of an in-place operator is what it writes, not what it reads.
TEST(CompileQuick, ViewsThatAreAddedToATensorThatLeaves) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensors& t) {
    Tensor sum = t[0].mm(t[1]);
    sum.add_(t[2].sum(IntArrayRef{0}, true).view({5}));
    return Tensors{sum};
  };
  const Tensors in = {numbers({4, 6}, 1), numbers({6, 5}, 2), numbers({3, 5}, 3)};
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  countsOf(plan, graph, in);
  EXPECT_EQ(callsOf(plan, "aten::view", PlanCall::kLate), 1u) << plan.describe();
}

TEST(CompileQuick, ReductionsOfAllElements) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensors& t) {
    return Tensors{t[0].sum(),     t[0].mean(),     t[0].sum(IntArrayRef{}),
                   t[0].t().sum(), t[0].t().mean(), t[0].view({-1}).sum()};
  };
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t rows : {1, 2, 3, 17, 64, 300, 1000})
      for (const int64_t columns : {1, 5, 16, 100, 513}) {
        Tensor x = drawn({rows, columns}, dtype, static_cast<uint64_t>(rows + columns));
        if (rows == 3) x = x.mul(0).neg();  // zeros of both signs
        const Graph graph = trace(f, Tensors{x});
        const Plan plan(graph);
        EXPECT_GE(countsOf(plan, graph, {x}).reductions, rows * columns > 1 ? 4u : 0u) << rows << " " << columns << "\n"
                                                                                       << plan.describe();
      }
}

TEST(CompileQuick, ProductsOfBatches) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t count : {1, 3, 40})
      for (const int64_t rows : {1, 5, 33})
        for (const int64_t inner : {1, 8, 40}) {
          const Tensors in = {drawn({count, rows, inner}, dtype, 1), drawn({count, inner, 7}, dtype, 2),
                              drawn({count, 7, inner}, dtype, 3), drawn({rows, count, inner}, dtype, 4),
                              drawn({1, inner, 7}, dtype, 5)};
          const auto f = [&](const Tensors& t) {
            return Tensors{t[0].bmm(t[1]), t[0].bmm(t[2].transpose(1, 2)), t[3].transpose(0, 1).bmm(t[1]),
                           t[0].bmm(t[4].expand({count, inner, 7}))};
          };
          const Graph graph = trace(f, in);
          const Plan plan(graph);
          EXPECT_EQ(countsOf(plan, graph, in).products, 4u) << plan.describe();
        }
}

TEST(CompileQuick, SmallRowsAndTheirGradients) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{1, 10}, {8, 10}, {33, 1}, {5, 100}, {17}, {2, 3, 70}, {40, 1000}}) {
      const Tensors in = {drawn(sizes, dtype, 1) * 3, drawn(sizes, dtype, 2)};
      const auto f = [](const Tensors& t) {
        const Tensor y = _softmax(t[0], -1, false), z = _log_softmax(t[0], t[0].dim() - 1, false);
        return Tensors{y, z, _softmax_backward_data(t[1], y, -1, y.scalar_type()),
                       _log_softmax_backward_data(t[1], z, -1, z.scalar_type())};
      };
      const Graph graph = trace(f, in);
      const Plan plan(graph);
      EXPECT_EQ(countsOf(plan, graph, in).rows, sizes[0] < 40 ? 4u : 0u) << plan.describe();
    }
  const Tensors in = {numbers({6, 4}, 1)};
  const auto f = [](const Tensors& t) { return Tensors{_softmax(t[0], 0, false), _log_softmax(t[0].t(), -1, false)}; };
  const Graph graph = trace(f, in);
  EXPECT_EQ(countsOf(Plan(graph), graph, in).rows, 0u);
}

Tensor otherSum(const Tensor& t, OptionalIntArrayRef, bool, std::optional<ScalarType>) { return t.select(0, 0) + 1; }
Tensor otherRows(const Tensor& t, int64_t, bool) { return t + 1; }

TEST(CompileQuick, ReplacedReductionsAndRowsAreCalled) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({6, 4}, 1)};
  const auto f = [](const Tensors& t) { return Tensors{t[0].sum(IntArrayRef{0}), _softmax(t[0], -1, false)}; };
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  EXPECT_EQ(countsOf(plan, graph, in).reductions, 1u);
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("sum.dim_IntList", &otherSum);
    m.impl("_softmax", &otherRows);
    const Plan now(graph);
    for (const Plan* p : {&plan, &now}) {
      const QuickCounts counts = countsOf(*p, graph, in);
      EXPECT_EQ(counts.reductions + counts.rows, 0u);
    }
    EXPECT_TRUE(same(plan.run(in)[0], in[0].select(0, 0) + 1) && same(plan.run(in)[1], in[0] + 1));
  }
  const Plan again(graph);
  EXPECT_EQ(countsOf(again, graph, in).rows, 1u);
  const InferenceMode inference;
  EXPECT_EQ(countsOf(again, graph, in).reductions, 0u);  // its call sets the node's modes, which the rows have then
}

Tensor sumOfBoth(const Tensor& a, const Tensor& b) { return a.sum(IntArrayRef{1}, true) + b.sum(IntArrayRef{0}); }

TEST(CompileQuick, AReplacedProductIsCalled) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({4, 6}, 1), numbers({5, 6}, 2)};
  const Graph graph = trace([](const Tensors& t) { return t[0].mm(t[1].t()); }, in);
  const Plan plan(graph);
  EXPECT_EQ(countsOf(plan, graph, in).products, 1u);
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::ADInplaceOrView}) {
    Library m(Library::Kind::kImpl, "aten", key);
    m.impl("mm", &sumOfBoth);
    EXPECT_EQ(countsOf(plan, graph, in).products, 0u);
    EXPECT_EQ(same(plan.run(in)[0], sumOfBoth(in[0], in[1].t())), key != DispatchKey::AutogradCPU);
    EXPECT_EQ(countsOf(Plan(graph), graph, in).products, 0u);  // nor in one that is made now
  }
  EXPECT_TRUE(same(plan.run(in)[0], in[0].mm(in[1].t())));
}

// An operator of the graph registers a kernel: the views that were passed over are made then, for the kernel to see.
TEST(CompileQuick, AKernelThatIsRegisteredInTheMiddleOfARunIsCalled) {
  const NoGradGuard no_grad;
  std::vector<int64_t> seen_strides;
  Registering poke("mm", [&](const Tensor& a, const Tensor& b) {
    seen_strides = b.strides().vec();
    return sumOfBoth(a, b);
  });
  const Tensors in = {numbers({4, 6}, 1), numbers({5, 6}, 2), numbers({3}, 3)};
  const auto f = [&](const Tensors& t) {
    const Tensor turned = (t[1] * 2).t(), again = turned.t().transpose(0, 1);
    const Tensor before = t[0].mm(turned), poked = poke(t[2]);
    return Tensors{before, poked, t[0].mm(again), t[0].mm(turned)};
  };
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  EXPECT_EQ(countsOf(plan, graph, in).products, 3u) << plan.describe();
  const uint64_t before = quickCounts().products;
  const Tensors got = poke.during([&] { return plan.run(in); });
  EXPECT_EQ(quickCounts().products, before + 1);
  const Tensor turned = (in[1] * 2).t();
  EXPECT_TRUE(same(got[0], in[0].mm(turned)) && same(got[1], in[2]));
  EXPECT_TRUE(same(got[2], sumOfBoth(in[0], turned)) && same(got[3], got[2]));
  EXPECT_EQ(seen_strides, turned.strides().vec());
  EXPECT_EQ(countsOf(Plan(graph), graph, in).products, 3u);
}

TEST(CompileQuick, ReductionsWithTheirViews) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensors& t) {
    const Tensor seen = t[0].sum(IntArrayRef{1}, true);
    return Tensors{t[0].sum(IntArrayRef{0}, true).view({6}) + t[1], seen.view({4}) * 2, seen * 3,
                   t[0].mean(IntArrayRef{0}, true).expand({3, 6}) * 2};
  };
  const Tensors in = {numbers({4, 6}, 1), numbers({6}, 2)};
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  EXPECT_EQ(countsOf(plan, graph, in).reductions, 3u) << plan.describe();
  EXPECT_EQ(callsOf(plan, "aten::sum.dim_IntList", PlanCall::kPreparedWithoutTensor), 1u) << plan.describe();
  EXPECT_EQ(countsOf(plan, graph, {numbers({6, 4}, 3).t(), in[1]}).reductions, 0u);
}

Tensor otherOnes(const Tensor& t, std::optional<ScalarType> dtype, std::optional<Layout>, std::optional<Device>,
                 std::optional<bool>, std::optional<MemoryFormat>) {
  return zeros_like(t, TensorOptions().dtype(dtype.value_or(t.scalar_type()))).add_(5);
}

TEST(CompileQuick, SmallTensorsOfOnesAndZeros) {
  const auto f = [](const Tensor& x) {
    return Tensors{ones_like(x),
                   zeros_like(x),
                   ones_like(x.to(kDouble)),
                   ones_like(x.to(kLong)),
                   zeros_like(x.t().contiguous().t()),
                   ones_like(x.expand({200, 2, 3}))};
  };
  auto fast = compile([&](const Tensor& x) { return f(x); });
  const Tensor x = numbers({2, 3});
  uint64_t before = 0;
  const auto check = [&] {
    before = quickCounts().fills;
    const Tensors expected = f(x), got = fast(x);
    ASSERT_TRUE(same(expected, got)) << fast.plan();
    for (const Tensor& t : got) Tensor(t).add_(1);  // theirs alone
  };
  for (int i = 0; i < 6; ++i) check();
  EXPECT_EQ(quickCounts().fills - before, 3u) << fast.plan();
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("ones_like", &otherOnes);
  for (int i = 0; i < 6; ++i) check();
  EXPECT_EQ(quickCounts().fills - before, 1u) << fast.plan();
}

// ---- gradients ------------------------------------------------------------------------------------------------------
/// What of two grads can be seen.
void expectSameGrad(const Tensor& expected, const Tensor& got) {
  ASSERT_TRUE(same(expected, got));
  EXPECT_EQ(expected._version(), got._version());
  EXPECT_EQ(expected.key_set(), got.key_set());
  EXPECT_EQ(expected.is_view(), got.is_view());
  EXPECT_EQ(expected.storage().nbytes(), got.storage().nbytes());
  EXPECT_EQ(expected.storage_offset(), got.storage_offset());
  EXPECT_EQ(expected.is_contiguous(), got.is_contiguous());
}

struct Layer {
  Tensor w = numbers({7, 5}, 1).requires_grad_(), b = numbers({7}, 2).requires_grad_();
  Tensor loss(const Tensor& x) const { return linear(x, w, b).sigmoid().sum(); }
  void step(const Tensor& x) const {
    for (const Tensor* t : {&w, &b}) Tensor(*t).mutable_grad() = Tensor();
    loss(x).backward();
    const NoGradGuard no_grad;
    for (const Tensor* t : {&w, &b}) Tensor(*t).sub_(t->grad(), 0.1);
  }
};

TEST(CompileQuick, GradsThatAreViewsAreWhatTheyShow) {
  for (const int64_t rows : {1, 6}) {
    const Layer plain, other;
    const Tensor x = numbers({rows, 5}, 3);
    auto fast = compile([&](const Tensor& t) { other.step(t); });
    QuickCounts before;
    for (int i = 0; i < 8; ++i) {
      before = quickCounts();
      plain.step(x);
      fast(x);
      expectSameGrad(plain.w.grad(), other.w.grad());
      expectSameGrad(plain.b.grad(), other.b.grad());
      ASSERT_TRUE(same(plain.w, other.w) && same(plain.b, other.b)) << i;
    }
    EXPECT_EQ(callsOf(fast, "aten::sum.dim_IntList", PlanCall::kPreparedWithView), 1u) << fast.plan();
    EXPECT_EQ(callsOf(fast, "aten::view", PlanCall::kArgument), 1u) << fast.plan();
    EXPECT_EQ(quickCounts().products - before.products, 2u) << fast.plan();
    EXPECT_EQ(quickCounts().grads - before.grads, 2u) << fast.plan();
    EXPECT_GE(quickCounts().views - before.views, 3u) << fast.plan();
  }
}

// Grads that are there already, that are kept with their graph, and a sum that is read or given away besides.
TEST(CompileQuick, WhatIsSharedDoesNotBecomeItsView) {
  const Layer plain, other;
  const auto adds = [](const Layer& l, const Tensor& x) { l.loss(x).backward(); };
  auto fast_adds = compile([&](const Tensor& t) { adds(other, t); });
  const auto sums = [](const Tensor& leaf, const Tensor& x) {
    Tensor(leaf).mutable_grad() = Tensor();
    const Tensor y = x * 2;
    const Tensor row = y.sum(IntArrayRef{0}, true);
    const Tensor shown = row.view({7});
    (leaf * 3).backward(shown);
    return Tensors{row, leaf.grad() + 1, shown};
  };
  const Tensor leaf = numbers({7}, 8).requires_grad_(), others = leaf.detach().clone().requires_grad_();
  auto fast_sums = compile([&](const Tensor& t) { return sums(others, t); });
  for (int i = 0; i < 8; ++i) {
    const Tensor x = numbers({6, 5}, 9 + static_cast<uint64_t>(i)), y = numbers({6, 7}, 9 + static_cast<uint64_t>(i));
    adds(plain, x);
    fast_adds(x);
    expectSameGrad(plain.b.grad(), other.b.grad());
    const Tensors expected = sums(leaf, y), got = fast_sums(y);
    ASSERT_TRUE(same(expected, got)) << fast_sums.plan();
    EXPECT_EQ(expected[2].is_view(), got[2].is_view());
    EXPECT_EQ(expected[2].is_alias_of(expected[0]), got[2].is_alias_of(got[0]));
    expectSameGrad(leaf.grad(), others.grad());
  }
  EXPECT_EQ(callsOf(fast_sums, "", PlanCall::kArgument), 0u) << fast_sums.plan();
  EXPECT_EQ(callsOf(fast_sums, "", PlanCall::kPreparedWithView), 0u) << fast_sums.plan();
  EXPECT_GE(fast_sums.counts().hits, 5u);
}

}  // namespace
}  // namespace shunt::test
