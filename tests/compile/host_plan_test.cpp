// Host plans: operators and host steps over the host's memory give the bits of operators called one by one, and loops
// are fused around host steps.
#include "tests/compile/host_chain.h"
#include "tests/compile/plan_parts.h"
#include "tests/support/same_bits.h"

#include "src/compile/steps/quick_counts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace shunt::host {
namespace {

using testing::HasSubstr;

const IValue kOne(int64_t{1});

void runs(const Chain& chain, const HostPlan& plan, int times = 3) {
  for (int i = 0; i < times; ++i) chain.expectSame(plan, static_cast<unsigned>(i + 1));
}

/// Three pointwise operators.
size_t threeOf(Chain& c, size_t x, size_t y) {
  const size_t product = c.call("aten::mul.Tensor", {x, y});
  const size_t sum = c.call("aten::add.Tensor", {product, x, kOne});
  return c.call("aten::relu", {sum});
}

TEST(HostPlan, FusesAChainIntoMemoryOfTheHosts) {
  for (const int64_t n : {0, 1, 5, 17, 1000, 5000}) {
    Chain c;
    const size_t x = c.input({.sizes = {n}}), y = c.input({.sizes = {n}}, 4);
    c.outputInto(threeOf(c, x, y));
    const HostPlan plan = c.builder.compile();
    runs(c, plan);
    if (n == 0) continue;
    EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
    EXPECT_EQ(plan.counts().in_regions, 3u);
    EXPECT_EQ(plan.counts().operators, 3u);
    EXPECT_EQ(plan.counts().runs, 3u);
    EXPECT_EQ(plan.counts().copied_outputs, 1u) << "the first run alone, by operators";
  }
}

TEST(HostPlan, ReturnsTensors) {
  Chain c;
  const size_t x = c.input({.sizes = {4, 3}}), y = c.input({.sizes = {4, 3}});
  const size_t z = threeOf(c, x, y);
  c.output(z);
  c.output(c.call("aten::t", {z}));
  runs(c, c.builder.compile());
}

TEST(HostPlan, HostStepsStandAtTheBeginningInTheMiddleAndAtTheEnd) {
  for (const int where : {0, 1, 2}) {
    Chain c;
    size_t x = c.input({.sizes = {6, 7}});
    const size_t y = c.input({.sizes = {6, 7}});
    if (where == 0) x = c.hostStep(x);
    x = threeOf(c, x, y);
    if (where == 1) x = threeOf(c, c.hostStep(x), y);
    if (where == 2) x = c.hostStep(x);
    c.outputInto(x);
    const HostPlan plan = c.builder.compile();
    runs(c, plan);
    EXPECT_EQ(plan.counts().host_steps, 1u);
    EXPECT_EQ(plan.counts().regions, where == 1 ? 2u : 1u) << plan.describe();
    EXPECT_EQ(plan.counts().host_calls, 3u);
    EXPECT_EQ(plan.counts().copied_outputs, 1u) << plan.describe();
  }
}

// Between two loops neither what it reads nor what it gives needs a tensor.
TEST(HostPlan, AHostStepReadsAndWritesTheBlockOfMemory) {
  Chain c;
  const size_t x = c.input({.sizes = {50}}), y = c.input({.sizes = {50}});
  const size_t z = threeOf(c, x, y);
  c.outputInto(threeOf(c, c.hostStep(z), y));
  const HostPlan plan = c.builder.compile();
  runs(c, plan);
  EXPECT_EQ(plan.counts().buffers, 2u) << plan.describe();
  EXPECT_EQ(test::callsOf(plan, "twice", test::PlanCall::kHostWithoutTensors), 1u) << plan.describe();
  const uint64_t before = compiled::quickCounts().host_steps;
  runs(c, plan, 2);
  EXPECT_EQ(compiled::quickCounts().host_steps, before + 2);
}

// A step that only reads is passed by; one with effects, or that writes, isn't.
TEST(HostPlan, LoopsPassStepsWithoutEffects) {
  for (const bool has_effects : {false, true}) {
    Chain c;
    const size_t x = c.input({.sizes = {40}}), y = c.input({.sizes = {40}});
    const size_t a = c.call("aten::mul.Tensor", {x, y}), h = c.hostStep(x, has_effects);
    const size_t b = c.call("aten::relu", {a});
    c.outputInto(b);
    c.outputInto(h);
    const HostPlan plan = c.builder.compile();
    runs(c, plan);
    EXPECT_EQ(plan.counts().regions, has_effects ? 2u : 1u) << plan.describe();
  }
}

TEST(HostPlan, WritesInputsInPlace) {
  Chain c;
  const size_t p = c.input({.sizes = {30}}), g = c.input({.sizes = {30}}), m = c.input({.sizes = {30}}, 4);
  c.call("aten::mul_.Scalar", {m, Chain::literal(0.9)});
  c.call("aten::add_.Tensor", {m, g, Chain::literal(0.1)});
  c.hostAdd(m, g);
  const size_t written = c.call("aten::add_.Tensor", {p, m, Chain::literal(-0.01)});
  c.output(written);
  const HostPlan plan = c.builder.compile();
  runs(c, plan);
  ASSERT_EQ(plan.outputs().size(), 1u);
  EXPECT_EQ(plan.outputs()[0].kind, HostOutput::Kind::kInput);
  EXPECT_EQ(plan.outputs()[0].input, 0u);
  EXPECT_GE(plan.counts().in_regions, 2u) << plan.describe();
}

TEST(HostPlan, OutputsThatAreViewsOfInputsAreDescribed) {
  Chain c;
  const size_t x = c.input({.sizes = {4, 6}, .offset = 3});
  c.call("aten::relu_", {x});
  c.output(c.call("aten::slice.Tensor", {x, kOne, kOne, Chain::literal(int64_t{5}), Chain::literal(int64_t{2})}));
  const HostPlan plan = c.builder.compile();
  runs(c, plan);
  const HostOutput& o = plan.outputs()[0];
  EXPECT_EQ(o.kind, HostOutput::Kind::kView);
  EXPECT_EQ(o.input, 0u);
  EXPECT_EQ(o.spec, (HostSpec{kFloat, {4, 2}, {6, 2}, 4}));
}

TEST(HostPlan, InputsShareMemory) {
  Chain c;
  const size_t x = c.input({.sizes = {20}}), y = c.inputIn(x, {.sizes = {20}, .offset = 20});
  const size_t all = c.inputIn(x, {.sizes = {40}}), z = c.input({.sizes = {40}});
  c.call("aten::add_.Tensor", {x, y, kOne});
  c.hostAdd(y, x);
  c.outputInto(threeOf(c, all, z));
  runs(c, c.builder.compile());
}

TEST(HostPlan, StridedMemory) {
  Chain c;
  const size_t x = c.input({.sizes = {5, 4}, .strides = {1, 5}}), y = c.input({.sizes = {5, 4}, .strides = {9, 2}}, 4);
  const size_t row = c.input({.sizes = {5, 4}, .strides = {0, 1}}), s = c.input({.sizes = {}});
  c.call("aten::mul_.Tensor", {y, s});
  size_t z = threeOf(c, threeOf(c, x, y), row);
  z = c.hostStep(z);
  c.output(c.call("aten::mul.Tensor", {c.call("aten::t", {z}), s}));
  c.hostAdd(x, row);
  const HostPlan plan = c.builder.compile();
  runs(c, plan);
}

TEST(HostPlan, ResultsOfStepsHaveTheStridesAskedFor) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {3, 2}});
  std::vector<HostSpec> seen;
  const auto step = [&](const HostCall& call) {
    seen.assign(call.result_specs.begin(), call.result_specs.end());
    forElements<float>(call.results[0], call.result_specs[0], [](int64_t i, float& y) { y = static_cast<float>(i); });
  };
  const HostValue y =
      b.step({.name = "s", .function = step, .inputs = {x}, .results = {{.sizes = {3, 2}, .strides = {1, 3}}}})[0];
  b.outputInto(y);
  b.output(b.call("aten::add.Tensor", {y, x})[0]);
  const HostPlan plan = b.compile();
  EXPECT_EQ(plan.outputs()[0].spec.strides, (std::vector<int64_t>{1, 3}));
  float in[6] = {10, 20, 30, 40, 50, 60}, out[6];
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> made = plan.run({in}, {out});
    EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(made[0][2][1].item<float>(), 65);
    EXPECT_EQ(seen[0].strides, (std::vector<int64_t>{1, 3}));
  }
  EXPECT_EQ(plan.counts().copied_outputs, 1u);
}

TEST(HostPlan, ConstantsAreCopies) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {3}});
  const Tensor c = ones({3});
  const HostValue v = b.constant(c);
  c.fill_(100);
  b.output(b.call("aten::add.Tensor", {x, v})[0]);
  b.output(v);
  const HostPlan plan = b.compile();
  float in[3] = {1, 2, 3};
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> out = plan.run({in});
    EXPECT_EQ(out[0].sum().item<float>(), 9);
    out[1].fill_(7);  // the caller's
  }
}

TEST(HostPlan, ProductsViewsAndListsOfArguments) {
  Chain c;
  const size_t x = c.input({.sizes = {4, 3}}), w = c.input({.sizes = {5, 3}});
  const size_t y = c.call("aten::mm", {x, c.call("aten::t", {w})});
  const size_t sums = c.call("aten::sum.dim_IntList", {threeOf(c, y, y), Chain::literal(std::vector<int64_t>{1}),
                                                       Chain::literal(true), Chain::literal(IValue())});
  c.outputInto(c.hostStep(sums));
  const HostPlan plan = c.builder.compile();
  runs(c, plan);
  EXPECT_GE(plan.counts().prepared, 2u) << plan.describe();
}

TEST(HostPlan, NamedArgumentsListsAndExpectedResults) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {2, 2}}), y = b.input({.sizes = {2, 2}});
  const HostSpec row{kFloat, {2, 2}, {}, 0};
  const HostValue sum = b.call("aten::add.Tensor", {x}, {{"alpha", 2}, {"other", y}}, {row})[0];
  const HostValue both = b.call("aten::cat", {std::vector<HostValue>{sum, x}, 0}, {}, {HostSpec{.sizes = {4, 2}}})[0];
  const std::vector<HostValue> parts = b.call("aten::chunk", {both, 2});
  ASSERT_EQ(parts.size(), 2u);
  b.output(b.call("aten::to.dtype", {parts[0], kDouble})[0]);
  const HostPlan plan = b.compile();
  float a[4] = {1, 2, 3, 4}, c[4] = {10, 20, 30, 40};
  for (int i = 0; i < 3; ++i) {
    const Tensor out = plan.run({a, c})[0];
    EXPECT_EQ(out.dtype(), kDouble);
    EXPECT_EQ(out[1][1].item<double>(), 84);
  }
}

// As Python records x * 0.5: the overload for tensors with a number.
TEST(HostPlan, NumbersInThePlaceOfTensors) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {6}});
  const HostValue y = b.call("aten::mul.Tensor", {x, 0.1})[0];
  b.call("aten::add_.Tensor", {y, 2}, {{"alpha", 3}});
  const HostValue z = b.call("aten::div.Tensor_mode", {y, 0.7}, {{"rounding_mode", "floor"}})[0];
  b.outputInto(b.call("aten::maximum", {z, -1})[0]);  // has no overload for numbers
  const HostPlan plan = b.compile();
  EXPECT_EQ(plan.outputs()[0].spec.dtype, kFloat);
  std::vector<float> in{1, -200, 3.3F, 5, 6, 7}, out(6);
  for (int i = 0; i < 3; ++i) {
    plan.run({in.data()}, {out.data()});
    const Tensor t = from_blob(in.data(), {6}, TensorOptions(kFloat));
    const Tensor expected = shunt::maximum(shunt::div(t * 0.1 + 6, 0.7, "floor"), scalar_to_tensor(-1).to(kFloat));
    EXPECT_TRUE(test::sameBits(expected, from_blob(out.data(), {6}, TensorOptions(kFloat)))) << i;
  }
  EXPECT_GE(plan.counts().in_regions, 2u) << plan.describe();
}

TEST(HostPlan, StepsThatNobodyNeedsAreLeftOut) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {8}});
  int calls = 0;
  const auto step = [&](const HostCall&) { ++calls; };
  const HostValue unused = b.step({.name = "unused", .function = step, .inputs = {x}, .results = {{.sizes = {8}}}})[0];
  b.call("aten::relu", {unused});
  b.step({.name = "seen", .function = step, .inputs = {x}, .has_effects = true});
  b.outputInto(b.call("aten::abs", {x})[0]);
  const HostPlan plan = b.compile();
  std::vector<float> in(8, -1), out(8);
  for (int i = 0; i < 3; ++i) plan.run({in.data()}, {out.data()});
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(plan.counts().host_steps, 1u);
  EXPECT_EQ(plan.counts().operators, 1u);
}

class Foreign : public std::exception {
 public:
  const char* what() const noexcept override { return "foreign"; }
};

TEST(HostPlan, WhatAStepThrowsLeavesTheRun) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {8}});
  bool throws = false;
  int later = 0;
  b.call("aten::add_.Scalar", {x, 1});
  b.step({.name = "may throw",
          .function =
              [&](const HostCall&) {
                if (throws) throw Foreign();
              },
          .inputs = {x},
          .has_effects = true});
  b.call("aten::add_.Scalar", {x, 10});
  b.step({.name = "later", .function = [&](const HostCall&) { ++later; }, .has_effects = true});
  const HostPlan plan = b.compile();
  float in[8] = {};
  float expected = 0;
  for (int i = 0; i < 8; ++i) {
    throws = i % 2 == 1;
    expected += throws ? 1 : 11;
    if (throws)
      EXPECT_THROW(plan.run({in}), Foreign);
    else
      plan.run({in});
    EXPECT_EQ(in[7], expected) << i;
  }
  EXPECT_EQ(later, 4);
}

TEST(HostPlan, StepsKeepTheirOrderAmongWrites) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {4}});
  std::vector<float> seen;
  const auto look = [&](const HostCall& call) { seen.push_back(static_cast<const float*>(call.inputs[0])[0]); };
  for (int i = 0; i < 3; ++i) {
    b.step({.name = "look", .function = look, .inputs = {x}, .has_effects = true});
    b.call("aten::add_.Scalar", {x, 1});
    b.call("aten::mul_.Scalar", {x, 2});
  }
  const HostPlan plan = b.compile();
  for (int i = 0; i < 3; ++i) {
    float in[4] = {1, 1, 1, 1};
    seen.clear();
    plan.run({in});
    EXPECT_EQ(seen, (std::vector<float>{1, 4, 10}));
    EXPECT_EQ(in[0], 22);
  }
}

TEST(HostPlan, AnyNumberOfThreads) {
  Chain c;
  const size_t x = c.input({.sizes = {300}}), y = c.input({.sizes = {300}});
  size_t z = threeOf(c, c.hostStep(threeOf(c, x, y)), y);
  c.hostAdd(x, z);
  c.outputInto(z);
  const HostPlan plan = c.builder.compile();
  const auto work = [&](unsigned first) {
    HostPlan mine = plan;
    std::vector<float> a(300), b(300), out(300);
    for (unsigned i = 0; i < 200; ++i) {
      for (size_t k = 0; k < 300; ++k) a[k] = static_cast<float>(first + k), b[k] = static_cast<float>(i);
      mine.run({a.data(), b.data()}, {out.data()});
      for (size_t k = 0; k < 300; ++k) {
        const float in = static_cast<float>(first + k), n = static_cast<float>(i);
        const float inner = 2 * std::max(in * n + in, 0.f) + 1, all = std::max(inner * n + inner, 0.f);
        ASSERT_EQ(out[k], all);
        ASSERT_EQ(a[k], in + all);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i * 1000);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(plan.counts().runs, 800u);
  EXPECT_EQ(plan.counts().host_calls, 1600u);
}

TEST(HostPlan, SettingsOfTheCallerDontMatter) {
  Chain c;
  const size_t x = c.input({.sizes = {20, 20}}), y = c.input({.sizes = {20, 20}});
  c.outputInto(c.call("aten::mm", {threeOf(c, x, y), c.hostStep(y)}));
  c.output(c.call("aten::mul.Tensor", {x, y}));
  const HostPlan plan = c.builder.compile();
  {
    const InferenceMode on;
    std::vector<float> a(400, 1), b(400, 2), out(400);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(plan.run({a.data(), b.data()}, {out.data()})[0].is_inference());
  }
  {
    const AutocastGuard on(kCPU, kBFloat16);
    std::vector<float> a(400, 1.001f), b(400, 2), out(400), outside(400);
    for (int i = 0; i < 3; ++i) plan.run({a.data(), b.data()}, {out.data()});
    const AutocastGuard off(kCPU, kBFloat16, false);
    plan.run({a.data(), b.data()}, {outside.data()});
    EXPECT_EQ(out, outside);
  }
  runs(c, plan);
}

TEST(HostPlan, DispatchModesSeeOperatorsAndSteps) {
  struct Names : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      names.push_back(op.operator_name().str());
      op.callBoxed(stack);
    }
    std::vector<std::string> names;
  };
  Chain c;
  const size_t x = c.input({.sizes = {20}}), y = c.input({.sizes = {20}});
  c.outputInto(c.call("aten::relu", {c.hostStep(c.call("aten::mul.Tensor", {x, y}))}));
  const HostPlan plan = c.builder.compile();
  std::vector<float> a(20, 3), b(20, -1), out(20);
  for (int i = 0; i < 3; ++i) {
    plan.run({a.data(), b.data()}, {out.data()});
    std::fill(out.begin(), out.end(), 1);
    Names mode;
    const DispatchModeGuard on(mode);
    plan.run({a.data(), b.data()}, {out.data()});
    EXPECT_EQ(out[19], 0);
    EXPECT_EQ(mode.names, (std::vector<std::string>{"aten::mul.Tensor", "shunt_host::step", "aten::relu"}));
  }
}

TEST(HostPlan, ARegistrationIsSeenByTheNextRun) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {4}});
  b.outputInto(b.call("aten::neg", {b.call("aten::abs", {x})[0]})[0]);
  const HostPlan plan = b.compile();
  float in[4] = {1, 2, 3, 4}, out[4];
  for (int i = 0; i < 3; ++i) plan.run({in}, {out});
  EXPECT_EQ(out[3], -4);
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl("abs", [](const Tensor& t) { return t.clone().fill_(5); });
    for (int i = 0; i < 3; ++i) {
      plan.run({in}, {out});
      EXPECT_EQ(out[3], -5);
    }
    EXPECT_EQ(plan.counts().planned, 2u);
  }
  for (int i = 0; i < 3; ++i) plan.run({in}, {out});
  EXPECT_EQ(out[3], -4);
  EXPECT_EQ(plan.counts().planned, 3u);
}

}  // namespace
}  // namespace shunt::host
