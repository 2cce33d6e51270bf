// Regions as native code: when they are, that they are, and that the bits are the graph's. Compiled in the caller.
#include "tests/compile/plan_parts.h"
#include "tests/support/same_bits.h"

#include "src/compile/program/plan.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt::compiled {
namespace {

using test::sameBits;
using testing::HasSubstr;

constexpr int kAfter = 2;  // runs before code is asked for
const PlanOptions kSoon{.native_after = kAfter};

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Inputs = std::function<std::vector<Tensor>()>;

/// Runs a plan of one region until it is native, and twice more, against the graph: results and what is written.
void expectNative(const Function& f, const Inputs& inputs) {
  const Graph graph = trace(f, inputs());
  const Plan plan(graph, kSoon);
  plan.run(inputs());  // records
  ASSERT_EQ(plan.counts().regions, 1u) << plan.describe();
  const uint64_t before = nativeRuns();
  for (int i = 0; i < kAfter + 2; ++i) {
    manual_seed(static_cast<uint64_t>(i));
    const std::vector<Tensor> a = inputs();
    manual_seed(static_cast<uint64_t>(i));
    const std::vector<Tensor> b = inputs(), expected = graph.run(a), got = plan.run(b);
    EXPECT_TRUE(sameBits(expected, got)) << plan.describe();
    for (size_t k = 0; k < a.size(); ++k) {
      EXPECT_TRUE(sameBits(a[k], b[k])) << "input " << k << plan.describe();
      EXPECT_EQ(a[k]._version(), b[k]._version()) << "input " << k;
    }
  }
  EXPECT_GE(nativeRuns() - before, 3u) << plan.describe();
  EXPECT_TRUE(test::isNative(plan)) << plan.describe();
}

std::vector<Tensor> chain(const std::vector<Tensor>& t) { return {(t[0] * t[1] + t[2]).relu().sigmoid()}; }
std::vector<Tensor> three(IntArrayRef sizes) { return {randn(sizes), randn(sizes), randn(sizes)}; }

TEST(Native, AChainOfAnyLength) {
  for (const int64_t n : {1, 5, 15, 16, 17, 1000, 5000, 100000}) {
    SCOPED_TRACE(n);
    expectNative(chain, [n] { return three({n}); });
  }
}

TEST(Native, RowsColumnsAndNumbers) {
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor y = (t[0] - t[2]) * t[3] * 2.5 + t[1];
    return std::vector<Tensor>{y, y.tanh().gt(t[1]), y.where(y.lt(t[2]), t[0])};
  };
  for (const int64_t columns : {1, 3, 64, 700, 5000}) {
    SCOPED_TRACE(columns);
    expectNative(f, [columns] {
      return std::vector<Tensor>{randn({37, columns}), randn({columns}), randn({37, 1}), randn({})};
    });
  }
}

TEST(Native, EveryDtypeRoundsAsItsOperatorsDo) {
  for (const ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble, kLong, kInt, kShort, kByte}) {
    SCOPED_TRACE(toString(dtype));
    const auto f = [](const std::vector<Tensor>& t) {
      const Tensor y = (t[0] * t[1] + t[0]).abs() * t[1];
      return std::vector<Tensor>{y, y.ge(t[0]), y.maximum(t[1])};
    };
    expectNative(f,
                 [dtype] { return std::vector<Tensor>{randn({777}).mul(9).to(dtype), randn({777}).mul(9).to(dtype)}; });
  }
}

TEST(Native, AnOptimiserInPlace) {
  const auto f = [](const std::vector<Tensor>& t) {
    Tensor p = t[0], m = t[1], v = t[2];
    const Tensor before = p * 2;
    m.mul_(0.9).add_(t[3], 0.1);
    v.mul_(0.99).addcmul_(t[3], t[3], 0.01);
    p.addcdiv_(m, v.sqrt().add_(1e-8), -0.1);
    return std::vector<Tensor>{before, v.sqrt().add_(1), p};
  };
  for (const int64_t n : {1, 16, 300, 70000})
    expectNative(f, [n] { return std::vector<Tensor>{randn({n}), randn({n}), rand({n}), randn({n})}; });
}

// Infinities, NaNs of both signs, zeros of both signs, denormals: as the operators' own loops have them.
TEST(Native, SpecialValues) {
  const std::vector<double> special = {0.0, -0.0, 1e-42, -1e-42, 1e38, -1e38, INFINITY, -INFINITY, NAN, -NAN, 1.0};
  const int64_t n = static_cast<int64_t>(special.size());
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor y = t[0] * t[1] + t[0];
    return std::vector<Tensor>{y.sigmoid(), y.maximum(t[1]).exp(), y.relu().sqrt(), (t[0] / t[1]).tanh(),
                               t[0].eq(t[1])};
  };
  expectNative(f, [&] {
    const Tensor x = tensor(special).to(kFloat);
    return std::vector<Tensor>{x.unsqueeze(0).expand({n, n}).contiguous(), x.unsqueeze(1).expand({n, n}).contiguous()};
  });
}

// Equal regions of two plans share one code, which goes with the last of them.
TEST(Native, EqualRegionsShareTheirCode) {
  const auto f = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] + t[1]).exp() * 3 - t[0]}; };
  const std::vector<Tensor> small = {randn({300}), randn({300})}, large = {randn({900}), randn({900})};
  const Graph of_small = trace(f, small), of_large = trace(f, large);
  const jit::FusedStats before = jit::stats().fused;
  {
    const Plan a(of_small, kSoon), b(of_large, kSoon);
    for (int i = 0; i < 4; ++i) a.run(small), b.run(large);
    EXPECT_THAT(a.describe(), HasSubstr("; native"));
    EXPECT_THAT(b.describe(), HasSubstr("; native"));
    const jit::FusedStats now = jit::stats().fused;
    EXPECT_EQ(now.compiled, before.compiled + 1);
    EXPECT_EQ(now.live, before.live + 1);
    EXPECT_GT(now.bytes, before.bytes);
    EXPECT_GT(now.times.total(), before.times.total());
    const jit::Stats read = jit::statsFromJson(jit::statsJson());
    EXPECT_EQ(read.fused.compiled, now.compiled);
    EXPECT_EQ(read.fused.bytes, now.bytes);
    EXPECT_EQ(read.fused.times.total(), now.times.total());
    EXPECT_THAT(jit::statsTable(read), HasSubstr("fused loops asked for"));
  }
  const jit::FusedStats after = jit::stats().fused;
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.bytes, before.bytes);
}

// Numbers as 1, 2 and 8 are part of the code; others are given to it.
TEST(Native, ALoopOfOtherSizesIsThereAtOnce) {
  const auto f = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] * t[1] - t[2]).tanh().relu()}; };
  const Graph short_one = trace(f, three({100})), long_one = trace(f, three({700}));
  const Plan first(short_one, kSoon);
  for (int i = 0; i < kAfter + 3; ++i) first.run(three({100}));
  ASSERT_THAT(first.describe(), HasSubstr("; native"));
  const Plan second(long_one, {.native_after = 1000});
  second.run(three({700}));  // records
  const jit::FusedStats before = jit::stats().fused;
  const uint64_t native = nativeRuns();
  const std::vector<Tensor> in = three({700});
  EXPECT_TRUE(sameBits(second.run(in)[0], long_one.run(in)[0]));
  EXPECT_EQ(nativeRuns(), native + 1) << second.describe();
  EXPECT_EQ(jit::stats().fused.compiled, before.compiled);
}

TEST(Native, UsualNumbersArePartOfTheCode) {
  const std::vector<Tensor> in = {randn({300}), randn({300})};
  const auto plan = [&](double factor, double divisor) {
    const auto f = [=](const std::vector<Tensor>& t) {
      return std::vector<Tensor>{(t[0] * factor).add(t[1], factor) / divisor};
    };
    auto made = std::make_unique<Plan>(trace(f, in), kSoon);
    for (int i = 0; i < 4; ++i) made->run(in);
    return made;
  };
  const uint64_t before = jit::stats().fused.compiled;
  std::vector<std::unique_ptr<Plan>> plans;
  plans.push_back(plan(3, 5));
  plans.push_back(plan(7, 11));
  EXPECT_EQ(jit::stats().fused.compiled, before + 1);
  plans.push_back(plan(2, 8));
  plans.push_back(plan(1, 8));
  EXPECT_EQ(jit::stats().fused.compiled, before + 3);
  for (const auto [factor, divisor] :
       {std::pair(2.0, 8.0), {1.0, 4.0}, {-1.0, 2.0}, {0.0, 1.0}, {3.0, 0.0}, {8.0, 3.0}})
    expectNative(
        [=](const std::vector<Tensor>& t) {
          const Tensor y = (t[0] * factor).add(t[1], factor);
          return std::vector<Tensor>{y / divisor, y - t[0], t[1].addcmul(y, t[0], factor)};
        },
        [] {
          const Tensor special = tensor({0.0F, -0.0F, 1e-42F, -1e38F, INFINITY, -INFINITY, NAN, 1.0F});
          return std::vector<Tensor>{cat({special, randn({100})}), cat({randn({100}), special})};
        });
  for (const ScalarType dtype : {kHalf, kLong, kInt, kByte})
    expectNative([](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] * 2 + t[1]) * -1 - t[0] * 8}; },
                 [dtype] { return std::vector<Tensor>{randn({99}).mul(9).to(dtype), randn({99}).mul(9).to(dtype)}; });
}

TEST(Native, SwitchedOffAndOnAgain) {
  const std::vector<Tensor> in = three({64});
  const Graph graph = trace(chain, in);
  const Plan plan(graph, kSoon);
  const auto runs = [&](int times) {
    const uint64_t before = nativeRuns();
    for (int i = 0; i < times; ++i) EXPECT_TRUE(sameBits(plan.run(in)[0], graph.run(in)[0]));
    return nativeRuns() - before;
  };
  EXPECT_GT(runs(4), 0u);
  const jit::FusedStats before = jit::stats().fused;
  jit::set_enabled(false);
  EXPECT_EQ(runs(40), 0u);
  EXPECT_TRUE(test::isInterpreted(plan)) << plan.describe();
  jit::set_enabled(true);
  EXPECT_GT(runs(200), 0u);
  jit::clear();
  EXPECT_TRUE(test::isInterpreted(plan)) << plan.describe();
  EXPECT_EQ(jit::stats().fused.compiled, before.compiled);  // the code was there
}

TEST(Native, ARefusedRegionStaysAndSaysWhy) {
  const auto f = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{t[0].sin() + t[1]}; };
  const std::vector<Tensor> in = three({100});
  const Graph graph = trace(f, in);
  const Plan plan(graph, kSoon);
  const uint64_t refused = jit::stats().fused.refused, native = nativeRuns();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(sameBits(plan.run(in)[0], graph.run(in)[0]));
  EXPECT_EQ(jit::stats().fused.refused, refused + 1);
  EXPECT_EQ(nativeRuns(), native);
  EXPECT_THAT(plan.describe(),
              HasSubstr("; interpreted: step 0 can't be fused: it calls a function for some elements"));
}

TEST(Native, OnSeveralThreads) {
  const std::vector<Tensor> in = three({500});
  const Graph graph = trace(chain, in);
  const Tensor expected = graph.run(in)[0];
  const Plan plan(graph, kSoon);
  plan.run(in);
  std::atomic<int> wrong{0}, native{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += !sameBits(plan.run(in)[0], expected);
      native += static_cast<int>(nativeRuns());
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(native, 0);
}

}  // namespace
}  // namespace shunt::compiled
