// What is wrong with a host plan or a run of one is said with operator or step, argument, expected and got; and leaves
// the builder as it was.
#include "tests/support/error_of.h"

#include <shunt/compile/host_plan.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace shunt {
namespace {

using test::errorOf;
using testing::AllOf;
using testing::HasSubstr;

const HostSpec kThree{.sizes = {3}};

void nothing(const HostCall&) {}

TEST(HostPlanErrors, Operators) {
  HostPlanBuilder b, other;
  const HostValue x = b.input(kThree), theirs = other.input(kThree);
  const auto call = [&](const char* name, std::vector<HostArgument> a,
                        std::vector<std::pair<std::string, HostArgument>> named = {},
                        const std::vector<std::optional<HostSpec>>& expected = {}) {
    return errorOf([&] { b.call(name, std::move(a), std::move(named), expected); });
  };
  EXPECT_THAT(call("aten::no_such_operator", {x}), HasSubstr("aten::no_such_operator"));
  EXPECT_THAT(call("aten::add.NoSuchOverload", {x, x}), HasSubstr("aten::add.NoSuchOverload"));
  EXPECT_THAT(call("trace::grad", {x}), HasSubstr("trace::grad stands in graphs that Shunt records"));
  EXPECT_THAT(call("aten::add.Tensor", {x, theirs}),
              AllOf(HasSubstr("aten::add.Tensor"), HasSubstr("another builder")));
  EXPECT_THAT(call("aten::add.Tensor", {x}), HasSubstr("argument 'other' is missing"));
  EXPECT_THAT(call("aten::add.Tensor", {x, x, 1, 1}), HasSubstr("has 3 arguments, got 4"));
  EXPECT_THAT(call("aten::add.Tensor", {x, x}, {{"beta", 1}}), HasSubstr("has no argument 'beta'"));
  EXPECT_THAT(call("aten::add.Tensor", {x, x}, {{"other", x}}), HasSubstr("argument 'other' is given twice"));
  EXPECT_THAT(call("aten::add.Tensor", {x, x, x}), HasSubstr("argument 'alpha': expected Scalar, got a value"));
  EXPECT_THAT(call("aten::add.Tensor", {x, std::vector<HostValue>{x}}),
              HasSubstr("argument 'other': expected Tensor, got a list of values"));
  EXPECT_THAT(call("aten::add.Tensor", {x, HostValue()}), HasSubstr("argument 'other': expected Tensor, got None"));
  EXPECT_THAT(call("aten::cat", {std::vector<HostValue>{x, HostValue()}}), HasSubstr("got a list with None"));
  EXPECT_THAT(call("aten::add.Tensor", {x, x, "one"}), AllOf(HasSubstr("aten::add.Tensor"), HasSubstr("'alpha'")));
  EXPECT_THAT(call("aten::mm", {x, x}), HasSubstr("aten::mm"));
  EXPECT_THAT(call("aten::unsqueeze_", {x, 0}), HasSubstr("aten::unsqueeze_ changes sizes or strides"));
  EXPECT_NE(call("aten::nonzero", {x}), "no error");
  EXPECT_NE(call("aten::item", {x}), "no error");
  EXPECT_THAT(call("aten::neg", {x}, {}, {HostSpec{.dtype = kDouble, .sizes = {3}}}),
              AllOf(HasSubstr("aten::neg: result 0: expected float64[3]"), HasSubstr("got float32[3]")));
  EXPECT_THAT(call("aten::neg", {x}, {}, {kThree, kThree}), HasSubstr("aten::neg has 1 results, expected 2"));
  // Nothing of all this is left behind.
  b.output(b.call("aten::neg", {x})[0]);
  const HostPlan plan = b.compile();
  EXPECT_EQ(plan.counts().operators, 1u) << plan.describe();
  float in[3] = {1, 2, 3};
  EXPECT_EQ(plan.run({in})[0][2].item<float>(), -3);
}

TEST(HostPlanErrors, InputsAreStillDeclaredAfterACallThatThrew) {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {3}});
  EXPECT_THROW(b.call("aten::mm", {x, x}), Error);
  const HostValue y = b.input({.sizes = {3}});
  b.outputInto(b.call("aten::add.Tensor", {x, y, 2})[0]);
  std::vector<float> left{1, 2, 3}, right{10, 20, 30}, out(3);
  b.compile().run({left.data(), right.data()}, {out.data()});
  EXPECT_EQ(out, (std::vector<float>{21, 42, 63}));
}

TEST(HostPlanErrors, InputsConstantsAndOutputs) {
  HostPlanBuilder b;
  EXPECT_THAT(errorOf([&] { b.input({.sizes = {-1}}); }), HasSubstr("input 0: sizes [-1]"));
  EXPECT_THAT(errorOf([&] { b.input({.sizes = {2}, .strides = {1, 1}}); }), HasSubstr("1 sizes and 2 strides"));
  EXPECT_THAT(errorOf([&] { b.input({.sizes = {2}, .strides = {-1}}); }), HasSubstr("strides [-1]"));
  EXPECT_THAT(errorOf([&] { b.input({.dtype = ScalarType::ComplexFloat, .sizes = {2}}); }),
              HasSubstr("is not supported"));
  EXPECT_NE(errorOf([&] { b.input({.sizes = {int64_t{1} << 40, int64_t{1} << 40}}); }), "no error");
  const HostValue x = b.input(kThree);
  EXPECT_THAT(errorOf([&] { b.constant(Tensor()); }), HasSubstr("an undefined one"));
  const HostValue c = b.constant(ones({3}));
  EXPECT_THAT(errorOf([&] { b.input(kThree, c); }), HasSubstr("what it shares memory with is no input"));
  EXPECT_THAT(errorOf([&] { b.call("aten::add_.Tensor", {c, x}); }), HasSubstr("aten::add_.Tensor writes a constant"));
  b.call("aten::neg", {x});
  EXPECT_THAT(errorOf([&] { b.input(kThree); }), HasSubstr("inputs are declared before the first operator"));
  EXPECT_THAT(errorOf([&] { b.output(HostValue()); }), HasSubstr("the value is None"));
  EXPECT_THAT(errorOf([&] { b.outputInto(x, {0}); }), HasSubstr("several elements"));
  EXPECT_THAT(errorOf([&] { b.compile({.name = "empty"}); }), HasSubstr("empty has no outputs"));
}

TEST(HostPlanErrors, Steps) {
  HostPlanBuilder b, other;
  const HostValue x = b.input(kThree), theirs = other.input(kThree), c = b.constant(ones({3}));
  const auto step = [&](HostStep s) { return errorOf([&] { b.step(std::move(s)); }); };
  EXPECT_THAT(step({.name = "s", .function = nullptr}), HasSubstr("'s': there is no function"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .inputs = {x}, .written = {1}}),
              HasSubstr("'s': it writes input 1, and has 1"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .inputs = {x, theirs}}),
              HasSubstr("'s': input 1 is a value of another builder"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .inputs = {HostValue()}}), HasSubstr("'s': input 0 is None"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .inputs = {c}, .written = {0}}),
              HasSubstr("host step 's' writes a constant"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .results = {{.sizes = {-2}}}}),
              HasSubstr("'s': result 0: sizes"));
  EXPECT_THAT(step({.name = "s", .function = &nothing, .results = {{.sizes = {2}, .offset = 1}}}),
              HasSubstr("'s': result 0: expected offset 0, got 1"));
}

HostPlan addition(HostPlanOptions options = {.name = "addition"}) {
  HostPlanBuilder b;
  const HostValue x = b.input(kThree), y = b.input(kThree);
  b.call("aten::add_.Tensor", {x, y});
  b.outputInto(b.call("aten::neg", {x})[0]);
  return b.compile(std::move(options));
}

TEST(HostPlanErrors, Addresses) {
  const HostPlan plan = addition();
  alignas(16) float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, out[4];
  const auto run = [&](std::vector<void*> in, std::vector<void*> to) { return errorOf([&] { plan.run(in, to); }); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(run({x}, {out}), HasSubstr("addition: expected the addresses of 2 inputs, got 1"));
    EXPECT_THAT(run({x, y, y}, {out}), HasSubstr("of 2 inputs, got 3"));
    EXPECT_THAT(run({x, y}, {}), HasSubstr("addition: expected the addresses of 1 outputs"));
    EXPECT_THAT(run({x, nullptr}, {out}),
                HasSubstr("input 1 (float32[3] with strides [1] at offset 0): the address is null"));
    EXPECT_THAT(run({x, y}, {nullptr}), HasSubstr("output memory 0"));
    EXPECT_THAT(run({reinterpret_cast<std::byte*>(x) + 2, y}, {out}), HasSubstr("a multiple of 4"));
    EXPECT_THAT(run({x, x + 1}, {out}), AllOf(HasSubstr("input 0"), HasSubstr("input 1"), HasSubstr("overlap")));
    EXPECT_THAT(run({x, y}, {y}), AllOf(HasSubstr("input 1"), HasSubstr("output memory 0"), HasSubstr("overlap")));
    EXPECT_EQ(x[0], 1 + 10.f * static_cast<float>(i)) << "nothing was written";
    EXPECT_EQ(run({x, y}, {out}), "no error");
    EXPECT_EQ(out[0], -x[0]);
  }
  const HostPlan unchecked = addition({.check_memory = false});
  unchecked.run({x, x}, {out});
}

TEST(HostPlanErrors, AHandleOfNoPlan) {
  HostPlan plan;
  EXPECT_THAT(errorOf([&] { plan.run({}); }), HasSubstr("of no plan"));
  EXPECT_THAT(errorOf([&] { plan.describe(); }), HasSubstr("of no plan"));
  plan = addition();
  EXPECT_EQ(plan.inputs().size(), 2u);
}

// A trace would keep the host's memory in its graph.
TEST(HostPlanErrors, ARunInATraceIsNoticed) {
  const HostPlan plan = addition();
  float x[3] = {1, 2, 3}, y[3] = {}, out[3];
  for (int i = 0; i < 3; ++i) plan.run({x, y}, {out});
  const auto traced = [&](const Tensor& t) {
    plan.run({x, y}, {out});
    return t + 1;
  };
  EXPECT_THAT(errorOf([&] { trace(traced, ones({3})); }), HasSubstr("the memory of input 0"));
  plan.run({x, y}, {out});
}

TEST(HostPlanErrors, SharedMemoryKeepsItsDistance) {
  HostPlanBuilder b;
  const HostValue x = b.input(kThree), y = b.input({.sizes = {3}, .offset = 4}, x);
  b.call("aten::add_.Tensor", {x, y});
  const HostPlan plan = b.compile();
  float a[8] = {1, 1, 1, 0, 2, 2, 2, 0};
  EXPECT_THAT(errorOf([&] { plan.run({a, a + 3}); }), HasSubstr("were declared in one storage"));
  EXPECT_EQ(a[0], 1);
  plan.run({a, a + 4});
  EXPECT_EQ(a[0], 3);
}

// A kernel of the program's that keeps what it gets would have a tensor over memory that may be gone.
TEST(HostPlanErrors, ATensorThatIsKeptIsNoticed) {
  static Tensor kept;
  Library library(Library::Kind::kDef, "keeping");
  library.def("keep(Tensor t) -> Tensor");
  library.impl("keep", DispatchKey::CompositeExplicitAutograd, [](const Tensor& t) {
    if (!t.is_meta() && t.numel() == 3 && t.data_ptr() != nullptr) kept = t;
    return t.clone();
  });
  HostPlanBuilder b;
  const HostValue x = b.input(kThree);
  HostValue y;
  ASSERT_EQ(errorOf([&] { y = b.call("keeping::keep", {x})[0]; }), "no error");
  b.output(y);
  const HostPlan plan = b.compile({.name = "keeper"});
  float in[3] = {1, 2, 3};
  EXPECT_THAT(errorOf([&] { plan.run({in}); }), AllOf(HasSubstr("keeper"), HasSubstr("the memory of input 0")));
  kept.reset();
}

TEST(HostPlanErrors, TheStepsOperatorIsForPlans) {
  const auto op = Dispatcher::singleton().findSchemaOrThrow("shunt_host::step", "");
  Stack stack{IValue("a string"), IValue(std::vector<Tensor>()), IValue(std::vector<Tensor>())};
  EXPECT_THAT(errorOf([&] { op.callBoxed(stack); }), HasSubstr("expected the step of a host plan"));
}

TEST(HostPlanErrors, AnOperatorThatThrowsLeavesWhatWasWritten) {
  HostPlanBuilder b;
  const HostValue x = b.input(kThree), i = b.input({.dtype = kLong, .sizes = {1}});
  b.call("aten::add_.Scalar", {x, 1});
  b.output(b.call("aten::index_select", {x, 0, i})[0]);
  const HostPlan plan = b.compile();
  float in[3] = {1, 2, 3};
  int64_t index = 7;
  for (int k = 0; k < 3; ++k) {
    EXPECT_THAT(errorOf([&] { plan.run({in, &index}); }), HasSubstr("index_select"));
    EXPECT_EQ(in[0], static_cast<float>(k) + 2);
  }
  index = 2;
  EXPECT_EQ(plan.run({in, &index})[0].item<float>(), 7);
}

}  // namespace
}  // namespace shunt
