// Casts in compiled functions: that they are steps of regions, and that the bits are eager's. Run with the
// interpreter's loops, and with native ones.
#include "src/compile/program/plan.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

namespace shunt::test {
namespace {

using compiled::Plan;
using testing::HasSubstr;
using testing::Not;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

constexpr ScalarType kDtypes[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};

/// Any bits: infinities, NaNs of all kinds, what no integer holds.
Tensor anyBits(int64_t n, ScalarType dtype, uint64_t seed) {
  Tensor out = empty({n}, dtype);
  auto* to = static_cast<unsigned char*>(out.data_ptr());
  uint64_t state = seed * 2 + 1;
  for (size_t i = 0; i < out.nbytes(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    to[i] = static_cast<unsigned char>(state >> 56);
    if (dtype == kBool) to[i] &= 1;
  }
  if (isReducedFloatingType(dtype) && n == 65536)
    for (int64_t i = 0; i < n; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      std::memcpy(to + 2 * i, &bits, 2);
    }
  return out;
}

/// Values about the bounds of the dtypes, and ties.
Tensor special(ScalarType dtype) {
  std::vector<double> all = {0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.0, 1e-42, -1e-42, 6e-8, INFINITY, -INFINITY, NAN, -NAN};
  for (const double bound : {127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65504.0, 65520.0, 2147483647.0, 2147483648.0,
                             4294967296.0, 9223372036854775807.0, 3.4e38, 1e300, 1.00390625, 1.0048828125})
    for (const double v : {bound, bound + 1, bound - 0.5}) all.insert(all.end(), {v, -v});
  return tensor(all).to(dtype);
}

/// Runs it as graph and as plan of one region of so many steps, a few times.
void expectOneRegion(const Function& f, const std::function<Tensors(uint64_t)>& inputs, size_t steps) {
  const Graph graph = trace(f, inputs(0));
  const Plan plan(graph, {.native_after = 2});
  const uint64_t before = compiled::nativeRuns();
  for (uint64_t i = 0; i < 6; ++i) {
    const Tensors in = inputs(i), expected = graph.run(in);
    const Tensors got = plan.run(in);
    ASSERT_TRUE(same(expected, got)) << detail::str("run ", i, ' ') << plan.describe();
  }
  EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
  EXPECT_EQ(plan.counts().nodes_in_regions, steps) << plan.describe();
  const char* waits = std::getenv("SHUNT_JIT_SYNC");  // native_rows_test's runs wait for the code
  if (waits == nullptr || *waits != '1') return;
  EXPECT_GE(compiled::nativeRuns() - before, 2u) << plan.describe();
  EXPECT_TRUE(isNative(plan)) << plan.describe();
}

TEST(CompileCasts, OfEveryTwoDtypes) {
  for (const ScalarType from : kDtypes)
    for (const ScalarType to : kDtypes) {
      if (from == to) continue;
      SCOPED_TRACE(detail::str(from, " to ", to));
      // Read from memory and from a buffer, written to both.
      const auto f = [=](const Tensors& t) {
        const Tensor first = t[0].to(to);
        return Tensors{first, first.to(from), first.eq(first), t[0].ge(t[0]).to(to == kBool ? kInt : to)};
      };
      const auto inputs = [=](uint64_t seed) {
        return Tensors{seed == 1 ? cat({special(from), anyBits(65536, from, 1)}).narrow(0, 0, 65536).clone()
                                 : anyBits(65536, from, seed)};
      };
      expectOneRegion(f, inputs, 5);
    }
}

TEST(CompileCasts, OfAnyShape) {
  const auto f = [](const Tensors& t) {
    return Tensors{((t[0] * 2).to(kBFloat16) + t[1]).to(kFloat) * t[2], t[0].to(kInt).to(kDouble) * t[3],
                   ((t[0] - 1).to(kInt) * 3).to(kFloat).exp()};  // in one buffer
  };
  const std::vector<std::vector<int64_t>> shapes = {{1}, {}, {1, 1}, {17}, {37, 1}, {37, 3}, {3, 70, 5}, {40, 5000}};
  for (const std::vector<int64_t>& sizes : shapes) {
    SCOPED_TRACE(IntArrayRef(sizes));
    const auto inputs = [&](uint64_t seed) {
      const std::vector<int64_t> row(sizes.empty() ? 0 : 1, sizes.empty() ? 1 : sizes.back());
      return Tensors{numbers(sizes, seed), numbers(row, seed + 1).to(kBFloat16), numbers(sizes, seed + 2),
                     numbers({}, seed + 3).to(kDouble)};
    };
    expectOneRegion(f, inputs, 13);
  }
}

// An operator that computes in another dtype than an operand's casts that itself.
TEST(CompileCasts, OfOperandsOfOtherDtypes) {
  for (const ScalarType a : kDtypes)
    for (const ScalarType b : kDtypes) {
      if (a == b) continue;
      SCOPED_TRACE(detail::str(a, " and ", b));
      const auto f = [](const Tensors& t) {
        const Tensor y = t[0] * t[1];
        return Tensors{y, t[1].ge(t[0]), y.maximum(t[0]) + t[1]};
      };
      expectOneRegion(f, [=](uint64_t seed) { return Tensors{anyBits(3000, a, seed), anyBits(3000, b, seed + 9)}; }, 4);
    }
}

TEST(CompileCasts, OfOperandsOfAnyShape) {
  const auto f = [](const Tensors& t) {
    const Tensor y = (t[0] + t[2]) * t[1] - t[3];
    return Tensors{y.tanh() * t[0], t[1].where(y.gt(t[3]), t[0]) + t[2], y};
  };
  for (const auto& sizes : {std::vector<int64_t>{37, 1}, {37, 3}, {37, 64}, {37, 700}, {37, 5000}}) {
    SCOPED_TRACE(IntArrayRef(sizes));
    const auto inputs = [&](uint64_t seed) {
      return Tensors{numbers(sizes, seed), numbers(sizes, seed + 1).to(kBFloat16), numbers({sizes[1]}, seed + 2),
                     numbers({37, 1}, seed + 3)};
    };
    expectOneRegion(f, inputs, 8);
  }
}

/// Calls both; the compiled one's plans.
std::vector<PlanDescription> expectAsEager(const Function& f, const std::function<Tensors(uint64_t)>& inputs) {
  auto fast = compile(f);
  for (uint64_t i = 0; i < 8; ++i) {
    const Tensors a = inputs(i), b = inputs(i), expected = f(a), got = fast(b);
    EXPECT_TRUE(same(expected, got)) << "call " << i << "\n" << fast.plan();
    for (size_t k = 0; k < expected.size() && k < got.size(); ++k)
      EXPECT_EQ(expected[k]._version(), got[k]._version()) << k;
    EXPECT_TRUE(same(a, b)) << "arguments\n" << fast.plan();
  }
  EXPECT_GE(fast.counts().hits, 6u) << fast.explain();
  return fast.plans();
}

std::function<Tensors(uint64_t)> two(IntArrayRef sizes) {
  return [sizes = sizes.vec()](uint64_t seed) { return Tensors{numbers(sizes, seed), numbers(sizes, seed + 50)}; };
}

TEST(CompileCasts, AChainUnderAutocast) {
  const Tensor w = numbers({64, 64}), bias = numbers({64});
  for (const ScalarType dtype : {kBFloat16, kHalf}) {
    const auto f = [&](const Tensors& t) {
      const AutocastGuard autocast(kCPU, dtype);
      const Tensor h = linear(t[0], w, bias).relu() * 2 + 1;
      return Tensors{h.to(kFloat) * t[1], h};
    };
    EXPECT_EQ(regionsOf(expectAsEager(f, two({32, 64})), 5, {{32, 64}}).size(), 1u);
    // Autocast off inside, and on around the call.
    const auto off = [&](const Tensors& t) {
      const AutocastGuard autocast(kCPU, dtype, false);
      return Tensors{((t[0] * 2).to(dtype) + 1).to(kFloat) * t[1]};
    };
    EXPECT_EQ(regionsOf(expectAsEager(off, two({32, 64})), 5, {{32, 64}}).size(), 1u);
    const AutocastGuard around(kCPU, dtype);
    EXPECT_EQ(regionsOf(expectAsEager(f, two({32, 64})), 5, {{32, 64}}).size(), 1u);
  }
}

// mse_loss is computed in float there, mm in the lower dtype: their casts are calls of the operators' own.
TEST(CompileCasts, WhatAutocastCastsItself) {
  const auto f = [](const Tensors& t) {
    const AutocastGuard autocast(kCPU, kBFloat16);
    const Tensor low = t[0].mm(t[1]);
    return Tensors{low.exp() + 1, (low * 2).log_softmax(-1), mse_loss(low * 2, low) * 3, low.mul(t[0]).to(kDouble)};
  };
  expectAsEager(f, two({64, 64}));
}

TEST(CompileCasts, ATrainingStepUnderAutocast) {
  const auto leaf = [] { return numbers({64, 64}).requires_grad_(); };
  const Tensor plain = leaf(), other = leaf();
  const auto step = [](const Tensor& w, const Tensor& x) {
    Tensor(w).mutable_grad() = Tensor();
    Tensor loss;
    {
      const AutocastGuard autocast(kCPU, kBFloat16);
      const Tensor h = linear(x, w, {}).relu() * 2 + 1;
      loss = (h.to(kFloat) * x).sum();
    }
    loss.backward();
    NoGradGuard no_grad;
    Tensor(w).sub_(w.grad(), 0.01);
    return loss.detach();
  };
  auto fast = compile([&](const Tensor& x) { return step(other, x); });
  for (uint64_t i = 0; i < 8; ++i) {
    const Tensor x = numbers({32, 64}, i);
    EXPECT_TRUE(same(step(plain, x), fast(x))) << fast.plan();
    EXPECT_TRUE(same(plain.grad(), other.grad())) << fast.plan();
    EXPECT_EQ(plain.grad()._version(), other.grad()._version());
    EXPECT_TRUE(same(plain, other)) << fast.plan();
  }
  EXPECT_GE(fast.counts().hits, 6u) << fast.explain();
  EXPECT_EQ(callsOf(fast, "aten::to"), 0u) << fast.plan();
  EXPECT_EQ(callsOf(fast, "aten::_to_copy"), 0u) << fast.plan();
}

TEST(CompileCasts, AroundRows) {
  const auto f = [](const Tensors& t) {
    return Tensors{softmax((t[0].to(kBFloat16) * 2).to(kFloat), -1).to(kHalf) + 1};
  };
  EXPECT_EQ(rowsOf(expectAsEager(f, two({20, 128})), 6, {{20, 128}}).size(), 1u);
}

// What a cast gives is a tensor of its own; a cast to the same dtype is the tensor, or a copy of it.
TEST(CompileCasts, WhatIsWrittenBesides) {
  expectAsEager(
      [](const Tensors& t) {
        const Tensor low = t[0].to(kBFloat16), self = t[0].to(kFloat), copy = t[0].to(kFloat, false, true);
        Tensor(t[0]).mul_(2);
        const Tensor after = self + copy;
        Tensor(low).add_(1);
        Tensor(self).add_(low.to(kFloat));
        return Tensors{low, self, copy, after, t[0].to(kBFloat16)};
      },
      two({40, 70}));
  auto fast = compile([](const Tensor& x) { return x.to(kFloat); });
  const Tensor x = numbers({40});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fast(x).is_same(x));
}

TEST(CompileCasts, InPlace) {
  for (const ScalarType from : kDtypes) {
    SCOPED_TRACE(from);
    const auto f = [=](const Tensors& t) {
      Tensor x = t[0], y = t[1];
      x.mul_(y).add_(t[2]);
      const Tensor before = x * 2;
      y.copy_(x);
      return Tensors{before, y + x, x};
    };
    const auto inputs = [=](uint64_t seed) {
      return Tensors{numbers({50, 30}, seed), numbers({50, 30}, seed + 1).mul(40).to(from),
                     numbers({50, 30}, seed + 2).to(kHalf)};
    };
    const std::vector<PlanDescription> plans = expectAsEager(f, inputs);
    // Of a double beside a float the result is cast, which is no region's; a copy of a float is none of its loops.
    if (from != kFloat && from != kDouble) EXPECT_EQ(regionsOf(plans, 5, {{50, 30}}).size(), 1u) << textOf(plans);
  }
  // Operands of other layouts and shapes, or of the same memory.
  expectAsEager(
      [](const Tensors& t) {
        Tensor low = zeros({30, 30}, kBFloat16), row = zeros({4, 30}, kDouble);
        low.copy_(t[0].t()), row.copy_(t[1].select(0, 0));
        low.add_(low.t().to(kFloat));
        return Tensors{low, row * t[0].select(0, 1)};
      },
      two({30, 30}));
}

// Operators that cast into memory of their own on their way, or cast first and write the result again: recorded with
// what hides the rest.
TEST(CompileCasts, WhatOnlyBeginsWithACast) {
  const auto hiding = [](uint64_t seed) {
    const Tensor index = seed < 3 ? arange(30) : arange(30).flip({0});
    return Tensors{seed < 3 ? zeros({30}) : numbers({30}, seed), index, numbers({30}, seed + 1)};
  };
  expectAsEager([](const Tensors& t) { return Tensors{t[0].cumsum(0, kDouble), t[0].sum(0, true, kDouble)}; }, hiding);
  expectAsEager([](const Tensors& t) { return Tensors{softmax(t[0], 0, kDouble), t[0].to(kDouble).cumsum(0)}; },
                hiding);
  expectAsEager([](const Tensors& t) { return Tensors{Tensor(t[0]).scatter_(0, t[1], t[2])}; }, hiding);
  expectAsEager([](const Tensors& t) { return Tensors{t[0].pow(1), t[1].pow(1.0), t[1].to(kInt).pow(t[0].abs())}; },
                hiding);
}

/// `names`: whether the results' nodes are those of eager code, too.
template <class F>
void expectHistory(const F& f, bool names) {
  auto fast = compile(f);
  for (uint64_t i = 0; i < 6; ++i) {
    Tensors a = two({30})(i), b = two({30})(i);
    a[0].requires_grad_(), b[0].requires_grad_();
    const Tensors expected = f(a), got = fast(b);
    ASSERT_TRUE(same(expected, got));
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_NE(got[k].grad_fn(), nullptr);
      if (names) EXPECT_EQ(expected[k].grad_fn()->name(), got[k].grad_fn()->name());
    }
    expected[0].sum().backward(), got[0].sum().backward();
    EXPECT_TRUE(same(a[0].grad(), b[0].grad()));
  }
  EXPECT_GE(fast.counts().hits, 4u) << fast.explain();
}

TEST(CompileCasts, HistoryThatIsSeen) {
  expectHistory([](const Tensors& t) { return Tensors{(t[0].to(kDouble) * 2).to(kFloat) * t[1]}; }, false);
}

// A result that is such a view keeps the backward pass from being compiled.
TEST(CompileCasts, HistoryThatOperatorsRecord) {
  const auto f = [](const Tensors& t) {
    const Tensor wide = t[0].to(kDouble) * 2;
    return Tensors{wide.to(kFloat) * t[1], wide.to(kHalf).chunk(2)[0]};
  };
  expectHistory(f, true);
}

TEST(CompileCasts, OtherLayouts) {
  const auto turned = [](const Tensors& t) { return Tensors{t[0].t().to(kBFloat16), (t[0].to(kHalf) + 1).t()}; };
  const std::vector<PlanDescription> plans = expectAsEager(turned, two({30, 40}));
  EXPECT_EQ(callsOf(plans, "aten::_to_copy"), 1u) << textOf(plans);
  for (const PlanPart& p : partsOf(plans))
    if (p.operators[0] == "aten::_to_copy") EXPECT_EQ(p.bytes, 7200);
  const auto last = [](const Tensors& t) {
    return Tensors{t[0].to(kDouble, false, false, MemoryFormat::ChannelsLast), t[0].to(kDouble)};
  };
  expectAsEager(last, two({2, 3, 4, 5}));
  expectAsEager(
      last, [](uint64_t seed) { return Tensors{numbers({2, 3, 4, 5}, seed).contiguous(MemoryFormat::ChannelsLast)}; });
  expectAsEager([](const Tensors& t) { return Tensors{t[0].expand({5, 30}).to(kInt), t[1].to(kBool)}; }, two({30}));
  expectAsEager([](const Tensors& t) { return Tensors{t[0].to(kInt) * 2}; }, two({0}));
}

Tensor doubledCopy(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout>, std::optional<Device>,
                   std::optional<bool>, bool, std::optional<MemoryFormat>) {
  Tensor out = empty(self.sizes(), self.options().dtype(*dtype));
  out.copy_(self * 2);
  return out;
}
Tensor doubledTo(const Tensor& self, ScalarType dtype, bool, bool, std::optional<MemoryFormat>) {
  Tensor out = empty(self.sizes(), self.options().dtype(dtype));
  out.copy_(self * 2);
  return out;
}

// Kernels that are there when it is recorded, that come later, and that go.
TEST(CompileCasts, AnotherKernelIsObeyed) {
  const Function f = [](const Tensors& t) { return Tensors{(t[0] + t[1]).to(kBFloat16) * 3}; };
  const Tensors in = two({33})(1);
  const Tensor plain = f(in)[0], doubled = ((in[0] + in[1]) * 2).to(kBFloat16) * 3;
  ASSERT_FALSE(same(plain, doubled));
  const auto of_copy = [](DispatchKey key) {
    auto m = std::make_unique<Library>(Library::Kind::kImpl, "aten", key);
    m->impl("_to_copy", &doubledCopy);
    return m;
  };
  const auto of_to = [](DispatchKey key) {
    auto m = std::make_unique<Library>(Library::Kind::kImpl, "aten", key);
    m->impl("to.dtype", &doubledTo);
    return m;
  };
  const std::vector<std::function<std::unique_ptr<Library>()>> kernels = {
      [&] { return of_copy(DispatchKey::CPU); },
      [&] { return of_copy(DispatchKey::BackendSelect); },
      [&] { return of_copy(DispatchKey::CompositeExplicitAutograd); },
      [&] { return of_to(DispatchKey::CPU); },
      [&] { return of_to(DispatchKey::BackendSelect); },
      [&] { return of_to(DispatchKey::CompositeImplicitAutograd); }};
  for (size_t k = 0; k < kernels.size(); ++k) {
    SCOPED_TRACE(k);
    auto fast = compile(f);
    const Plan plan(trace(f, in));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], plain));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(same(plan.run(in)[0], plain));
    EXPECT_EQ(regionsOf(plan, 3).size(), 1u) << plan.describe();
    EXPECT_EQ(regionsOf(fast, 3).size(), 1u) << fast.plan();
    {
      const auto kernel = kernels[k]();
      ASSERT_TRUE(same(f(in)[0], doubled));
      EXPECT_FALSE(plan.holds());
      EXPECT_TRUE(same(plan.run(in)[0], doubled));
      for (int i = 0; i < 6; ++i) EXPECT_TRUE(same(fast(in)[0], doubled)) << fast.explain() << fast.plan();
      EXPECT_EQ(fast.counts().invalidated, 1u);
      EXPECT_EQ(regionsOf(fast, 3).size(), 0u) << fast.plan();
      auto later = compile(f);  // recorded where both kernels give the same
      const Tensors nothing = {zeros({33}), zeros({33})};
      for (int i = 0; i < 4; ++i) later(nothing);
      EXPECT_TRUE(same(later(in)[0], doubled)) << later.plan();
    }
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], plain)) << fast.explain();
  }
}

Tensor minus(const Tensor& self, const Tensor& other) { return self - other; }

TEST(CompileCasts, AKernelForAutocastIsObeyed) {
  const Function f = [](const Tensors& t) {
    const AutocastGuard autocast(kCPU, kBFloat16);
    return Tensors{(t[0] * t[1]).to(kHalf) + 1};
  };
  const Tensors in = two({33})(1);
  auto fast = compile(f);
  const Plan plan(trace(f, in));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], f(in)[0]));
  for (int i = 0; i < 2; ++i) plan.run(in);
  EXPECT_EQ(regionsOf(fast, 3).size(), 1u) << fast.plan();
  EXPECT_EQ(regionsOf(plan, 3).size(), 1u) << plan.describe();
  Library m(Library::Kind::kImpl, "aten", DispatchKey::AutocastCPU);
  m.impl("mul.Tensor", &minus);
  const Tensor expected = (in[0] - in[1]).to(kHalf) + 1;
  ASSERT_TRUE(same(f(in)[0], expected));
  EXPECT_TRUE(same(plan.run(in)[0], expected));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(same(fast(in)[0], expected)) << fast.explain() << fast.plan();
}

}  // namespace
}  // namespace shunt::test
