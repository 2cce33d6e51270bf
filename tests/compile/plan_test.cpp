// Plans: what they fuse, what they leave, what they notice.
#include "src/compile/program/plan.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"
#include "tests/support/same_bits.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace shunt::compiled {
namespace {

using test::sameBits;
using testing::HasSubstr;

std::vector<Tensor> runs(const Plan& plan, const std::vector<Tensor>& inputs, int times = 2) {
  std::vector<Tensor> out;
  for (int i = 0; i < times; ++i) out = plan.run(inputs);
  return out;
}

void expectSame(const Graph& graph, const Plan& plan, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = graph.run(inputs), got = plan.run(inputs);
  ASSERT_EQ(expected.size(), got.size());
  EXPECT_TRUE(sameBits(expected, got)) << "\n" << plan.describe();
}

Tensor chain(const Tensor& a, const Tensor& b, const Tensor& c) { return (a * b + c).relu().sigmoid(); }

TEST(Plan, FusesAChain) {
  for (const int64_t n : {1, 5, 16, 1000, 5000, 100000}) {
    const std::vector<Tensor> in = {randn({n}), randn({n}), randn({n})};
    const Graph graph = trace([](const auto& t) { return chain(t[0], t[1], t[2]); }, in);
    const Plan plan(graph);
    runs(plan, in);
    EXPECT_EQ(plan.counts().regions, 1u);
    EXPECT_EQ(plan.counts().nodes_in_regions, 4u) << plan.describe();
    expectSame(graph, plan, in);
    expectSame(graph, plan, {randn({n}), randn({n}), randn({n})});
  }
}

TEST(Plan, FusesRowsColumnsAndNumbers) {
  const std::vector<Tensor> in = {randn({33, 70}), randn({70}), randn({33, 1}), randn({})};
  const auto f = [](const std::vector<Tensor>& t) { return (t[0] - t[2]) * t[3] * 2.5 + t[1]; };
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  runs(plan, in);
  EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
  expectSame(graph, plan, in);
}

TEST(Plan, RunsSeveralRowsAtOnceOrPartsOfThem) {
  for (const int64_t columns : {1, 3, 64, 700, 5000}) {
    const std::vector<Tensor> in = {randn({37, columns}), randn({columns}), randn({37, 1})};
    const auto f = [](const std::vector<Tensor>& t) { return ((t[0] + t[1]).tanh() * t[2] + t[0]).gt(t[1]); };
    const Graph graph = trace(f, in);
    const Plan plan(graph);
    runs(plan, in);
    EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
    expectSame(graph, plan, in);
  }
}

TEST(Plan, RunsAnOptimiserInPlace) {
  const auto f = [](const std::vector<Tensor>& t) {
    Tensor p = t[0], m = t[1], v = t[2];
    const Tensor before = p * 2;
    m.mul_(0.9).add_(t[3], 0.1);
    v.mul_(0.99).addcmul_(t[3], t[3], 0.01);
    p.addcdiv_(m, v.sqrt().add_(1e-8), -0.1);
    return std::vector<Tensor>{before, v.sqrt().add_(1), p};
  };
  const auto inputs = [] { return std::vector<Tensor>{ones({300}), zeros({300}), zeros({300}), full({300}, 0.5)}; };
  const Graph graph = trace(f, inputs());
  const Plan plan(graph);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> a = inputs(), b = inputs();
    const std::vector<Tensor> expected = graph.run(a), got = plan.run(b);
    ASSERT_TRUE(sameBits(expected, got));
    for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(expected[k]._version(), got[k]._version()) << k;
    EXPECT_TRUE(sameBits(a, b));
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k]._version(), b[k]._version()) << k;
    EXPECT_TRUE(got[2].is_same(b[0]));
  }
  EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
}

// Operands that share memory in another way than when it was recorded: element by element would be another result.
TEST(Plan, LooksForSharedMemoryBeforeItWritesInPlace) {
  const auto f = [](const std::vector<Tensor>& t) { return Tensor(t[0]).mul_(2).add_(t[1]); };
  const std::vector<Tensor> apart = {ones({64}), ones({64})};
  const Graph graph = trace(f, apart);
  const Plan plan(graph);
  runs(plan, apart);
  EXPECT_EQ(plan.counts().nodes_in_regions, 2u);
  const Tensor a = arange(100).to(kFloat), b = a.clone();
  std::string expected, got;
  try {
    graph.run({a.narrow(0, 0, 64), a.narrow(0, 1, 64)});
  } catch (const Error& e) {
    expected = e.what();
  }
  try {
    plan.run({{b.narrow(0, 0, 64), b.narrow(0, 1, 64)}});
  } catch (const Error& e) {
    got = e.what();
  }
  EXPECT_EQ(expected, got);
  EXPECT_TRUE(sameBits(a, b));
}

// What was written before an operator throws stays written.
TEST(Plan, WritesBeforeItThrows) {
  const auto f = [](const std::vector<Tensor>& t) {
    Tensor(t[0]).add_(1);
    const Tensor y = t[0].index_select(0, t[1]);
    Tensor(t[0]).add_(1);
    return y;
  };
  const Graph graph = trace(f, std::vector<Tensor>{zeros({8}), tensor({1, 2}, kLong)});
  const Plan plan(graph);
  for (int i = 0; i < 3; ++i) {
    const Tensor good = zeros({8}), bad = zeros({8});
    plan.run({{good, tensor({1, 2}, kLong)}});
    EXPECT_EQ(good.select(0, 0).item<float>(), 2);
    EXPECT_THROW(plan.run({{bad, tensor({1, 20}, kLong)}}), Error);
    EXPECT_EQ(bad.select(0, 0).item<float>(), 1);
    EXPECT_EQ(bad._version(), 1);
  }
}

TEST(Plan, RoundsEachIntermediateToItsDtype) {
  for (const ScalarType dtype : {kHalf, kBFloat16, kDouble, kLong}) {
    const Tensor a = randn({777}).mul(9).to(dtype), b = randn({777}).mul(9).to(dtype);
    const std::vector<Tensor> in = {a, b};
    const auto f = [](const std::vector<Tensor>& t) { return (t[0] * t[1] + t[0]).neg() * t[1]; };
    const Graph graph = trace(f, in);
    const Plan plan(graph);
    runs(plan, in);
    EXPECT_EQ(plan.counts().nodes_in_regions, 4u) << plan.describe();
    expectSame(graph, plan, in);
  }
}

// The buffer of a mask can't be that of the wider elements which are chosen by it.
TEST(Plan, MixesElementSizes) {
  const std::vector<Tensor> in = {randn({3000}), randn({3000})};
  const auto f = [](const std::vector<Tensor>& t) { return where(t[0].gt(t[1]), t[0], t[1] * 2).sign() * t[1]; };
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  runs(plan, in);
  EXPECT_EQ(plan.counts().nodes_in_regions, 5u) << plan.describe();
  expectSame(graph, plan, in);
}

TEST(Plan, KeepsOrderWithWrites) {
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor before = t[0] * 2;
    Tensor(t[0]).add_(1);
    const Tensor after = t[0] * 2;
    return std::vector<Tensor>{before + t[1], after + t[1]};
  };
  const Graph graph = trace(f, std::vector<Tensor>{ones({64}), ones({64})});
  const Plan plan(graph);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> in = {ones({64}), ones({64})};
    const std::vector<Tensor> out = plan.run(in);
    EXPECT_EQ(out[0].select(0, 0).item<float>(), 3);
    EXPECT_EQ(out[1].select(0, 0).item<float>(), 5);
    EXPECT_EQ(in[0]._version(), 1);
  }
}

struct Step {
  Tensor w = randn({20, 10}).requires_grad_(), bias = randn({10}).requires_grad_();
  Tensor operator()(const std::vector<Tensor>& in) {
    w.mutable_grad() = bias.mutable_grad() = Tensor();
    const Tensor loss = ((in[0].mm(w) + bias).tanh() - in[1]).pow(2).mean();
    loss.backward();
    NoGradGuard off;
    w.sub_(w.grad() * 0.1);
    bias.sub_(bias.grad() * 0.1);
    return loss.detach();
  }
};

TEST(Plan, TrainsAsEagerCodeDoes) {
  const std::vector<Tensor> in = {randn({8, 20}), randn({8, 10})};
  Step eager, planned;
  planned.w = eager.w.detach().clone().requires_grad_();
  planned.bias = eager.bias.detach().clone().requires_grad_();
  const Graph graph = trace(planned, in, {.fake = true});
  const Plan plan(graph);
  for (int i = 0; i < 5; ++i) {
    const Tensor loss = eager(in);
    EXPECT_TRUE(sameBits(loss, plan.run(in)[0])) << i;
    EXPECT_TRUE(sameBits(eager.w, planned.w));
    EXPECT_TRUE(sameBits(eager.w.grad(), planned.w.grad()));
    EXPECT_EQ(eager.w._version(), planned.w._version());
    EXPECT_EQ(eager.bias._version(), planned.bias._version());
  }
  EXPECT_GT(plan.counts().nodes_in_regions, 3u) << plan.describe();
  EXPECT_EQ(test::callsOf(plan, "aten::mm", test::PlanCall::kWithAutograd), 0u) << plan.describe();
  EXPECT_EQ(test::callsOf(plan, "aten::mean", test::PlanCall::kWithAutograd), 0u) << plan.describe();
}

TEST(Plan, OutputsKeepTheirHistory) {
  const Tensor w = randn({16}).requires_grad_();
  const Graph graph = trace([&](const Tensor& x) { return (x * w).sigmoid(); }, randn({16}));
  const Plan plan(graph);
  const Tensor x = randn({16});
  const Tensor out = runs(plan, {x})[0];
  out.sum().backward();
  const Tensor grad = w.grad().clone();
  w.mutable_grad() = Tensor();
  (x * w).sigmoid().sum().backward();
  EXPECT_TRUE(sameBits(grad, w.grad()));
  EXPECT_FALSE(Plan(graph, {.history_of_outputs = false}).run({{x}})[0].requires_grad());
}

Tensor otherMul(const Tensor& a, const Tensor&) { return a.clone(); }

TEST(Plan, SeesThatAKernelWasReplaced) {
  const std::vector<Tensor> in = {randn({16}), randn({16}), randn({16})};
  const Graph graph = trace([](const auto& t) { return chain(t[0], t[1], t[2]); }, in);
  const Plan plan(graph);
  runs(plan, in);
  EXPECT_TRUE(plan.holds());
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::AutogradCPU}) {
    Library m(Library::Kind::kImpl, "aten", key);
    m.impl("mul.Tensor", &otherMul);
    EXPECT_FALSE(plan.holds());
    expectSame(graph, plan, in);
    if (key == DispatchKey::CPU) EXPECT_TRUE(sameBits(plan.run(in)[0], (in[0] + in[2]).relu().sigmoid()));
  }
  EXPECT_TRUE(sameBits(plan.run(in)[0], chain(in[0], in[1], in[2])));
}

TEST(Plan, MakesViewsThatStayInsideWithoutACall) {
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor w = t[1].t(), cube = t[0].unsqueeze(0).expand({2, 4, 6}).permute({1, 2, 0});
    const Tensor product = cube.sum(IntArrayRef{2}).mm(w);
    const Tensor total = product.transpose(0, 1).mm(product).view({25}).sum();
    return product * total + t[0].select(1, 3).unsqueeze(1);
  };
  const std::vector<Tensor> in = {randn({4, 6}), randn({5, 6}).requires_grad_()};
  const NoGradGuard no_grad;
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  runs(plan, in);
  // select begins elsewhere, perhaps.
  EXPECT_EQ(test::callsOf(plan, "", test::PlanCall::kDirect), 4u) << plan.describe();
  EXPECT_EQ(test::callsOf(plan, "aten::select", test::PlanCall::kDirect), 0u) << plan.describe();
  EXPECT_EQ(test::callsOf(plan, "", test::PlanCall::kLate), 3u) << plan.describe();
  expectSame(graph, plan, in);
  // Of other strides than the graph has.
  expectSame(graph, plan, {randn({6, 4}).t(), randn({6, 5}).t()});
  expectSame(graph, plan, {randn({9, 6}).slice(0, 5, 9), randn({5, 6})});
}

TEST(Plan, CallsTheOperatorsOfViewsThatAreSeen) {
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor out = t[0].t(), written = t[1].view({6});
    Tensor(written).add_(1);
    Tensor inner = t[2].unsqueeze(0);
    inner.squeeze(0).mul_(2);
    return std::vector<Tensor>{out, out.unsqueeze(0), t[1] * 2, t[2] + 1};
  };
  const std::vector<Tensor> in = {randn({4, 6}), randn({2, 3}), randn({5})};
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  runs(plan, in);
  EXPECT_EQ(test::callsOf(plan, "", test::PlanCall::kDirect), 0u) << plan.describe();
  const auto copies = [&] {
    std::vector<Tensor> all;
    for (const Tensor& t : in) all.push_back(t.clone());
    return all;
  };
  const std::vector<Tensor> a = copies(), b = copies(), expected = graph.run(a), got = plan.run(b);
  EXPECT_TRUE(sameBits(expected, got));
  EXPECT_TRUE(got[0].is_view() && got[0]._base().is_same(b[0]) && got[1]._base().is_same(b[0]));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i]._version(), b[i]._version()) << i;
}

// Where the products of a run lie.
std::vector<const void*> products;
Tensor notedProduct(const Tensor& self, const Tensor& mat2) {
  const Tensor result = (self.unsqueeze(2) * mat2.unsqueeze(0)).sum(1);
  products.push_back(result.data_ptr());
  return result;
}

TEST(Plan, WritesOverInputsThatNobodyReadsAfterwards) {
  struct Case {
    std::function<std::vector<Tensor>(const Tensor& product)> f;
    int64_t planned;
    int in_place;  // the result that lies in the product's memory; -1: none
  };
  const std::vector<Case> cases = {
      {[](const Tensor& p) { return std::vector<Tensor>{p.relu()}; }, 1, 0},
      {[](const Tensor& p) { return std::vector<Tensor>{p.relu().add_(1).mul_(p)}; }, 0, -1},  // read once more
      {[](const Tensor& p) { return std::vector<Tensor>{p * 2, p + 1}; }, 1, 1},               // by the last reader
      {[](const Tensor& p) { return std::vector<Tensor>{p.relu(), p}; }, 0, 1},
      {[](const Tensor& p) { return std::vector<Tensor>{p.relu(), p.t()}; }, 1, 1},        // a view has it still
      {[](const Tensor& p) { return std::vector<Tensor>{p.relu(), p.t().mm(p)}; }, 1, 0},  // after the product
      {[](const Tensor& p) { return std::vector<Tensor>{p.gt(0)}; }, 0, -1},
      {[](const Tensor& p) { return std::vector<Tensor>{p[0] * 2}; }, 1, -1},  // a part of a larger memory
      {[](const Tensor& p) { return std::vector<Tensor>{p.sum(0) + p}; }, 1, 0},
      {[](const Tensor& p) { return std::vector<Tensor>{p.add_(1).mul(3)}; }, 0, -1}};
  Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  library.impl("mm", &notedProduct);
  const std::vector<Tensor> in = {randn({4, 6}), randn({6, 5})};
  for (size_t c = 0; c < cases.size(); ++c) {
    const Graph graph = trace([&](const auto& t) { return cases[c].f(t[0].mm(t[1])); }, in);
    const Plan plan(graph);
    runs(plan, in);
    size_t planned = 0;
    for (const PlanPart& p : test::partsOf(plan)) planned += p.in_inputs_memory;
    EXPECT_EQ(planned, cases[c].planned) << c << plan.describe();
    for (int round = 0; round < 2; ++round) {
      const std::vector<Tensor> expected = graph.run(in);
      products.clear();
      const std::vector<Tensor> got = plan.run(in);
      ASSERT_FALSE(products.empty()) << c;
      ASSERT_TRUE(sameBits(expected, got)) << c;
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].data_ptr() == products[0], cases[c].in_place == static_cast<int>(i)) << c << ", " << i;
        EXPECT_EQ(expected[i]._version(), got[i]._version()) << c << ", " << i;
        EXPECT_EQ(expected[i].storage().nbytes(), got[i].storage().nbytes()) << c << ", " << i;
        EXPECT_EQ(expected[i].is_view(), got[i].is_view()) << c << ", " << i;
        EXPECT_EQ(expected[i].is_alias_of(expected[0]), got[i].is_alias_of(got[0])) << c << ", " << i;
      }
    }
  }
}

int views_called = 0;
Tensor countingT(DispatchKeySet keys, const Tensor& self) {
  ++views_called;
  return ops::t::redispatch(keys & DispatchKeySet::fullAfter(DispatchKey::ADInplaceOrView), self);
}
Tensor contiguousT(const Tensor& self) { return self.contiguous().as_strided({self.size(1), self.size(0)}, {1, 1}); }

TEST(Plan, SeesThatAViewOperatorWasReplaced) {
  const std::vector<Tensor> in = {randn({4, 6}), randn({5, 6})};
  const Graph graph = trace([](const auto& t) { return t[0].mm(t[1].t()); }, in);
  const Plan plan(graph);
  runs(plan, in);
  EXPECT_EQ(test::callsOf(plan, "aten::t", test::PlanCall::kLate), 1u) << plan.describe();
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::ADInplaceOrView);
    m.impl("t", &countingT);
    views_called = 0;
    plan.run(in);
    EXPECT_EQ(views_called, 1);
  }
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("t", &contiguousT);
    expectSame(graph, plan, in);
    EXPECT_FALSE(sameBits(plan.run(in)[0], in[0].mm(in[1].transpose(0, 1))));
    const Plan now(graph);  // made while the other kernel stands
    for (int i = 0; i < 3; ++i) expectSame(graph, now, in);
  }
  EXPECT_TRUE(sameBits(plan.run(in)[0], in[0].mm(in[1].t())));
}

// The step that gives w its grad asks no table in the fused program only.
TEST(Plan, SeesAKernelThatComesAboveAGradsAddition) {
  const Tensor w = randn({8}).requires_grad_();
  const auto f = [&](const std::vector<Tensor>& t) {
    Tensor(w).mutable_grad() = Tensor();
    const Tensor u = (t[0] * 1).detach().requires_grad_();
    ((w + u * 2) * t[0]).backward(t[0]);
    return std::vector<Tensor>{};
  };
  const std::vector<Tensor> in = {randn({8})};
  const Tensor expected = in[0] * in[0];
  const Plan plan(trace(f, in), {.guarded = true});
  runs(plan, in, 3);
  EXPECT_TRUE(sameBits(w.grad(), expected));
  ASSERT_EQ(test::callsOf(plan, "trace::accumulate_grad_", test::PlanCall::kDirectWithoutCopy), 1u) << plan.describe();
  {
    int calls = 0;
    Library m(Library::Kind::kImpl, "trace", DispatchKey::ADInplaceOrView);
    m.impl("accumulate_grad_", [&](Tensor& self, const Tensor& grad, bool) {
      ++calls;
      self.mutable_grad() = grad * 2;
    });
    EXPECT_FALSE(plan.holds());
    plan.run(in);
    EXPECT_EQ(calls, 2) << plan.describe();
    EXPECT_TRUE(sameBits(w.grad(), expected * 2));
  }
  plan.run(in);
  EXPECT_TRUE(sameBits(w.grad(), expected));
}

TEST(Plan, PassesErrorsOnAndRunsAgain) {
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor x = t[0] * 2 + 1;
    return x.index_select(0, t[1]) * 3;
  };
  const std::vector<Tensor> good = {randn({8}), tensor({1, 2}, kLong)}, bad = {randn({8}), tensor({1, 20}, kLong)};
  const Graph graph = trace(f, good);
  const Plan plan(graph);
  runs(plan, good);
  EXPECT_THROW(plan.run(bad), Error);
  expectSame(graph, plan, good);
  EXPECT_THROW(plan.run({{randn({9}), good[1]}}), Error);
  EXPECT_THROW(plan.run({{good[0]}}), Error);
}

TEST(Plan, RunsOnSeveralThreads) {
  const std::vector<Tensor> in = {randn({1000}), randn({1000}), randn({1000})};
  const Graph graph = trace([](const auto& t) { return chain(t[0], t[1], t[2]); }, in);
  const Plan plan(graph);
  const Tensor expected = graph.run(in)[0];
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) wrong += !sameBits(expected, plan.run(in)[0]);
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Plan, RunsUnderTheModesOfItsNodes) {
  const std::vector<Tensor> in = {randn({16}), randn({16}), randn({16})};
  const Graph graph = trace([](const auto& t) { return chain(t[0], t[1], t[2]); }, in);
  const Plan plan(graph);
  runs(plan, in);
  const InferenceMode inference;
  EXPECT_FALSE(graph.run(in)[0].is_inference());
  EXPECT_FALSE(plan.run(in)[0].is_inference());
  EXPECT_TRUE(empty({1}).is_inference());
}

TEST(Plan, KeepsDeadCodeThatCanFail) {
  const auto f = [](const std::vector<Tensor>& t) {
    (void)t[0].index_select(0, t[1]);
    (void)(t[0] * 2);
    return t[0] + 1;
  };
  const auto g = [](const Tensor& t) {
    (void)(t * 2);
    return t + 1;
  };
  const Plan plan(trace(f, std::vector<Tensor>{zeros({8}), tensor({1, 2}, kLong)}));
  EXPECT_EQ(plan.counts().steps, 3u);
  EXPECT_THROW(plan.run({{zeros({8}), tensor({1, 20}, kLong)}}), Error);
  EXPECT_EQ(Plan(trace(g, zeros({8}))).counts().steps, 1u);
  const auto divides = [](const Tensor& t) {
    (void)t.fmod(0);
    return t + 1;
  };
  const Plan of_truth_values(trace(divides, ones({8}, kBool), {.fake = true}));
  EXPECT_THROW(of_truth_values.run({{ones({8}, kBool)}}), Error);
}

struct Counting : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  int calls = 0;
};

TEST(Plan, ModesSeeEachNode) {
  const std::vector<Tensor> in = {randn({16}), randn({16}), randn({16})};
  const Plan plan(trace([](const auto& t) { return chain(t[0], t[1], t[2]); }, in));
  runs(plan, in);
  Counting mode;
  {
    const DispatchModeGuard on(mode);
    plan.run(in);
  }
  EXPECT_EQ(mode.calls, 4);
}

}  // namespace
}  // namespace shunt::compiled
