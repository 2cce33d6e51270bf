// jit::explain and jit::stats in every state of a pair's life. Compiled in the caller at the fourth call, and counted.
#include "tests/support/wrapper.h"

#include <shunt/jit/explain.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <thread>

namespace shunt::jit {
namespace {

using test::Wrapper;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Every test has a dtype and operator of its own, since pairs live as long as the process.
Tensor numbers(ScalarType dtype, int64_t n = 16) { return arange(n, TensorOptions(dtype)); }

const ExplainedStep* stepOf(const Explanation& e, const std::string& key) {
  for (const ExplainedStep& s : e.chain)
    if (s.key == key) return &s;
  return nullptr;
}

TEST(Explain, CallThatWasNeverMade) {
  const Tensor x = numbers(kDouble);
  const Explanation e = explain("aten::rsqrt", x);
  EXPECT_EQ(e.op, "aten::rsqrt");
  EXPECT_EQ(e.schema, "aten::rsqrt(Tensor self) -> Tensor");
  ASSERT_EQ(e.arguments.size(), 1u);
  EXPECT_EQ(e.arguments[0].name, "self");
  EXPECT_THAT(e.arguments[0].value, AllOf(HasSubstr("Double [16]"), HasSubstr("contiguous")));
  EXPECT_THAT(e.arguments[0].keys, HasSubstr("CPU"));
  EXPECT_EQ(e.keys, "CPU");
  EXPECT_THAT(e.skipped, HasSubstr("BackendSelect"));
  EXPECT_THAT(e.modes, HasSubstr("grad on, inference off, autocast off"));
  EXPECT_FALSE(e.observed);
  EXPECT_FALSE(e.in_force);
  EXPECT_EQ(e.verdict, "interpreted: not observed yet; about 4 calls make it hot");
  const ExplainedStep* cpu = stepOf(e, "CPU");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->reason, "kernel");
  EXPECT_THAT(cpu->place, StartsWith("pointwise.yaml:"));
  EXPECT_EQ(cpu->verdict, "inline");
  EXPECT_THAT(cpu->symbol, HasSubstr("rsqrt"));
  const ExplainedStep* select = stepOf(e, "BackendSelect");
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->reason, "fallthrough");
  EXPECT_TRUE(select->skipped);
}

TEST(Explain, CountingThenCompiled) {
  const Tensor x = numbers(kDouble).requires_grad_();
  x.log();
  x.log();
  Explanation e = explain("aten::log", x);
  EXPECT_TRUE(e.observed);
  EXPECT_EQ(e.verdict, "interpreted: about 2 of 4 calls counted");
  x.log();
  x.log();
  e = explain("aten::log", x);
  EXPECT_EQ(e.verdict, "compiled: a call like this one runs in its thunk") << e.text();
  EXPECT_TRUE(e.in_force);
  EXPECT_THAT(e.thunks, testing::ElementsAre("{AutogradCPU, CPU} (Double contiguous)"));
  EXPECT_EQ(e.keys, "AutogradCPU, CPU") << "highest first";
  EXPECT_EQ(e.signature, "Double contiguous");
  EXPECT_EQ(e.pair.state, PairState::kCompiled);
  EXPECT_EQ(e.pair.interpreted, 4u);
  EXPECT_GT(e.pair.times.total(), 0);
  EXPECT_GT(e.pair.bytes, 100u);
  EXPECT_EQ(e.pair.in_thunks, 0u);
  EXPECT_THAT(e.plan, AllOf(HasSubstr("AutogradCPU [Autograd alias] inline"), HasSubstr("common dtype Double")));
  EXPECT_EQ(stepOf(e, "AutogradCPU")->verdict, "inline");
  EXPECT_EQ(stepOf(e, "AutogradCPU")->reason, "Autograd alias");
  EXPECT_FALSE(e.last_invalidation.has_value());
}

TEST(Explain, ModesParkAThunkAndBringItBack) {
  const Tensor x = numbers(kDouble).requires_grad_();
  for (int i = 0; i < 4; ++i) x.sigmoid();
  EXPECT_TRUE(explain("aten::sigmoid", x).in_force);
  {
    const NoGradGuard no_grad;
    const Explanation e = explain("aten::sigmoid", x);
    EXPECT_FALSE(e.in_force);
    EXPECT_THAT(e.thunks, testing::ElementsAre("{AutogradCPU, CPU} (Double contiguous)")) << "parked";
    EXPECT_THAT(e.keys, Not(HasSubstr("Autograd")));
    EXPECT_THAT(e.excluded, HasSubstr("AutogradFunctionality"));
    EXPECT_THAT(e.modes, HasSubstr("grad off"));
    EXPECT_THAT(e.verdict, HasSubstr("not observed yet"));
  }
  EXPECT_TRUE(explain("aten::sigmoid", x).in_force);
  const AutocastGuard autocast(kCPU);
  EXPECT_THAT(explain("aten::sigmoid", x).modes, HasSubstr("autocast AutocastCPU"));
}

struct Named : DispatchMode {
  explicit Named(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  std::string name_;
};

TEST(Explain, DispatchModesInnermostFirstAndWhatFollowsBelow) {
  const Tensor x = numbers(kDouble).requires_grad_();
  for (int i = 0; i < 4; ++i) x.erf();
  Named outer("Outer"), inner("Inner");
  const DispatchModeGuard first(outer), second(inner);
  const Explanation e = explain("aten::erf", x);
  EXPECT_THAT(e.dispatch_modes, testing::ElementsAre("Inner", "Outer"));
  EXPECT_EQ(e.keys, "Python, AutogradCPU, CPU");
  EXPECT_EQ(e.keys_below_modes, "AutogradCPU, CPU");
  EXPECT_EQ(e.verdict, "goes to the mode Inner; below the modes compiled: a call like this one runs in its thunk");
  EXPECT_TRUE(e.in_force);
  const ExplainedStep* python = stepOf(e, "Python");
  ASSERT_NE(python, nullptr);
  EXPECT_EQ(python->reason, "backend fallback");
  EXPECT_THAT(python->place, StartsWith("dispatch_mode.cpp:"));
  EXPECT_THAT(e.text(), AllOf(HasSubstr("1. Inner gets the call\n  2. Outer gets what the handler before it calls\n"),
                              HasSubstr("then {AutogradCPU, CPU}, if the last one's handler calls the operator")));
  const auto json = nlohmann::json::parse(e.json());
  EXPECT_EQ(json["dispatch_modes"], nlohmann::json({"Inner", "Outer"}));
  EXPECT_EQ(json["keys_below_modes"], "AutogradCPU, CPU");
}

struct NamedAtKernel : Named {
  using Named::Named;
  Level level() const override { return Level::kKernel; }
};

TEST(Explain, DispatchModesAtKernelComeLastAndAreNotOfferedComposites) {
  const Tensor x = numbers(kDouble).requires_grad_(), m = x.view({4, 4});
  NamedAtKernel kernel("Kernel");
  Named call("Call");
  const DispatchModeGuard first(kernel);
  {
    const Explanation e = explain("aten::expm1", x);
    EXPECT_THAT(e.dispatch_modes, testing::ElementsAre("Kernel"));
    EXPECT_EQ(e.kernel_modes, 1u);
    EXPECT_EQ(e.keys, "AutogradCPU, PythonKernel, CPU");
    EXPECT_EQ(e.keys_below_modes, "CPU");
    EXPECT_THAT(e.verdict,
                StartsWith("goes to the mode Kernel, below Autograd and Autocast; below the modes interpreted"));
    EXPECT_THAT(stepOf(e, "PythonKernel")->place, StartsWith("dispatch_mode.cpp:"));
  }
  const DispatchModeGuard second(call);
  const Explanation e = explain("aten::expm1", x);
  EXPECT_THAT(e.dispatch_modes, testing::ElementsAre("Call", "Kernel"));
  EXPECT_EQ(e.keys_below_modes, "CPU");
  EXPECT_THAT(e.text(), HasSubstr("2. Kernel gets what the handler before it calls, below Autograd and Autocast\n"));
  EXPECT_EQ(nlohmann::json::parse(e.json())["kernel_modes"], 1);
  const Explanation composite = explain("aten::matmul", m, m);
  EXPECT_THAT(composite.dispatch_modes, testing::ElementsAre("Call"));
  EXPECT_EQ(composite.kernel_modes, 0u);
}

TEST(Explain, TheThreadsSettingsAsData) {
  const Tensor x = numbers(kFloat);
  const auto thread = [&] {
    return nlohmann::json::parse(explain("aten::mm", x.view({4, 4}), x.view({4, 4})).json())["thread"];
  };
  EXPECT_EQ(thread(), nlohmann::json::parse(R"({"grad": true, "inference": false, "autocast": {}})"));
  {
    const AutocastGuard autocast(kCPU, kHalf);
    const InferenceMode inference;
    EXPECT_EQ(thread(),
              nlohmann::json::parse(R"({"grad": false, "inference": true, "autocast": {"AutocastCPU": "Half"}})"));
    EXPECT_THAT(explain("aten::relu", x).modes, HasSubstr("inference on, autocast AutocastCPU to Half"));
  }
  EXPECT_TRUE(explain("aten::relu", x).dispatch_modes.empty());
  EXPECT_THAT(explain("aten::relu", x).text(), Not(HasSubstr("dispatch modes")));
}

TEST(Explain, WrappersAreNamed) {
  const Tensor x = numbers(kFloat);
  const Explanation subclass = explain("aten::add.Tensor", x, wrap<Wrapper>(x));
  EXPECT_EQ(subclass.arguments[0].wrapper, "");
  EXPECT_EQ(subclass.arguments[1].wrapper, "subclass Wrapper");
  EXPECT_THAT(subclass.text(), HasSubstr("contiguous, subclass Wrapper  {"));
  EXPECT_THAT(subclass.keys, StartsWith("Python"));
  EXPECT_EQ(stepOf(subclass, "Python")->reason, "backend fallback");
  EXPECT_EQ(explain("aten::cat", std::vector<Tensor>{x, wrap<Wrapper>(x)}, 0).arguments[0].wrapper, "subclass Wrapper");

  const Explanation fake = explain("aten::relu", to_fake(x));
  EXPECT_EQ(fake.arguments[0].wrapper, "fake");
  EXPECT_FALSE(stepOf(fake, "Fake")->place.empty());
  const Explanation functional = explain("aten::relu", to_functional(x));
  EXPECT_EQ(functional.arguments[0].wrapper, "functional");
  EXPECT_EQ(nlohmann::json::parse(functional.json())["arguments"][0]["wrapper"], "functional");
  EXPECT_FALSE(stepOf(functional, "Functionalize")->place.empty());
  for (const Explanation* e : {&subclass, &fake, &functional})
    EXPECT_THAT(e->verdict, StartsWith("interpreted: ")) << e->text();
}

Tensor plain(const Tensor& x) { return x.clone(); }

TEST(Explain, InvalidationAndItsCause) {
  const Tensor x = numbers(kDouble), other = numbers(kFloat);
  for (int i = 0; i < 4; ++i) {
    x.floor();
    other.floor();
  }
  {
    Library change(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    change.impl("floor", &plain);
    Explanation e = explain("aten::floor", x);
    EXPECT_FALSE(e.in_force);
    EXPECT_THAT(e.thunks, testing::IsEmpty());
    ASSERT_TRUE(e.last_invalidation.has_value());
    EXPECT_EQ(e.last_invalidation->cause, "aten::floor: CPU changed to kernel");
    EXPECT_EQ(e.pair.invalidations, 1u);
    EXPECT_THAT(e.verdict, HasSubstr("its thunk is gone (aten::floor: CPU changed to kernel)"));
    EXPECT_THAT(stepOf(e, "CPU")->place, StartsWith("explain_test.cpp:"));
    EXPECT_EQ(stepOf(e, "CPU")->verdict, "call");
    for (int i = 0; i < 8; ++i) x.floor();  // twice the threshold, after an invalidation
    e = explain("aten::floor", x);
    EXPECT_THAT(e.verdict, StartsWith("interpreted: refused: CPU: nothing to inline"));
    EXPECT_EQ(e.pair.state, PairState::kRefused);
  }
  EXPECT_EQ(explain("aten::floor", other).pair.invalidations, 1u);
  EXPECT_EQ(explain("aten::floor", numbers(kHalf)).pair.invalidations, 0u);
}

TEST(Explain, ArgumentsHaveDefaultsAndNames) {
  const Tensor x = numbers(kFloat);
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  EXPECT_EQ(explain(add, {x, x}).arguments[2].value, "1");
  const Explanation named = explain(add, {x}, {{"alpha", IValue(2.5)}, {"other", IValue(x)}});
  EXPECT_EQ(named.arguments[2].value, "2.5");
  EXPECT_EQ(named.signature, "Float contiguous, Float contiguous");
  const auto messageOf = [&](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(messageOf([&] { explain(add, {x}); }), HasSubstr("argument 'other' of aten::add.Tensor is missing"));
  EXPECT_THAT(messageOf([&] { explain(add, {x, x}, {{"beta", IValue(1)}}); }), HasSubstr("has no argument 'beta'"));
  EXPECT_THAT(messageOf([&] { explain(add, {x, x}, {{"self", IValue(x)}}); }),
              HasSubstr("'self' of aten::add.Tensor is given twice"));
  EXPECT_THAT(messageOf([&] { explain(add, {x, IValue("text")}); }), HasSubstr("expected Tensor, got"));
  EXPECT_THAT(messageOf([&] { explain("aten::addd.Tensor", x); }), HasSubstr("aten::addd"));
}

TEST(Explain, EveryOperatorsDefaultsAreTaken) {
  const Tensor x = numbers(kFloat, 4).reshape({2, 2});
  int explained = 0;
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    std::map<std::string, IValue> named;
    for (const Argument& a : op->schema().arguments())
      if (!a.default_value && a.type.isPlain(TypeKind::Tensor))
        named[a.name] = x;
      else if (!a.default_value && a.type.isPlain(TypeKind::Scalar))
        named[a.name] = 1;
      else if (!a.default_value && a.type.isList(TypeKind::Tensor))
        named[a.name] = std::vector<Tensor>{x, x};
    try {
      const Explanation e = explain(*op, {}, named);
      EXPECT_FALSE(e.chain.empty()) << name;
      ++explained;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  testing::AnyOf(HasSubstr("is missing and has no default"), HasSubstr("expected Tensor?[]")))
          << name;
    }
  }
  EXPECT_GT(explained, 250);
}

TEST(Explain, TheJitOff) {
  const Tensor x = numbers(kFloat);
  set_enabled(false);
  const Explanation e = explain("aten::cos", x);
  set_enabled(true);
  EXPECT_THAT(e.verdict, HasSubstr("the JIT is off"));
}

TEST(Explain, TextAndJsonTellTheSame) {
  const Tensor x = numbers(kFloat);
  for (int i = 0; i < 5; ++i) x.sin();
  const Explanation e = explain("aten::sin", x);
  EXPECT_THAT(e.text(), AllOf(HasSubstr("aten::sin(Tensor self) -> Tensor"), HasSubstr("-> CPU"), HasSubstr(e.verdict),
                              HasSubstr(e.plan), HasSubstr("of the call          {CPU}"), HasSubstr("in thunks 1"),
                              HasSubstr("never invalidated")));
  const auto json = nlohmann::json::parse(e.json());
  EXPECT_EQ(json["op"], "aten::sin");
  EXPECT_EQ(json["keys"]["call"], "CPU");
  EXPECT_EQ(json["verdict"], e.verdict);
  EXPECT_EQ(json["in_force"], true);
  EXPECT_EQ(json["pair"]["in_thunks"], 1);
  EXPECT_EQ(json["pair"]["state"], "compiled");
  EXPECT_GT(json["pair"]["compile_ms"]["optimise"].get<double>(), 0);
  EXPECT_EQ(json["chain"].size(), e.chain.size());
}

TEST(Explain, CallsThatNobodyCountsAreNotZero) {
  const Tensor x = numbers(kDouble);
  for (int i = 0; i < 5; ++i) x.sin();
  Explanation e = explain("aten::sin", x);
  EXPECT_TRUE(e.counts_calls);
  e.counts_calls = false;  // as without SHUNT_STATS
  EXPECT_THAT(e.text(), AllOf(Not(HasSubstr("in thunks 1")),
                              HasSubstr("; calls in thunks are counted under SHUNT_STATS only\n")));
  EXPECT_EQ(nlohmann::json::parse(e.json())["pair"]["counts_calls"], false);
}

const PairStats& rowOf(const Stats& s, const std::string& op, const std::string& signature) {
  for (const PairStats& p : s.pairs)
    if (p.op == op && p.signature == signature) return p;
  throw std::runtime_error("no such pair");
}

TEST(Stats, CallsInThunksAndGuardMissesAreCountedExactly) {
  const Tensor x = numbers(kInt), square = numbers(kInt).reshape({4, 4}), column = numbers(kInt, 4).reshape({4, 1});
  for (int i = 0; i < 4; ++i) x.mul(x);
  const auto counts = [] {
    const Stats s = stats();
    EXPECT_TRUE(s.counts_calls);
    const PairStats& p = rowOf(s, "aten::mul.Tensor", "Int contiguous, Int contiguous");
    return std::pair(p.in_thunks, p.guard_misses);
  };
  EXPECT_EQ(counts(), std::pair(uint64_t{0}, uint64_t{0}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) x.mul(x);
      for (int i = 0; i < 10; ++i) square.mul(column);  // same signature, shapes that no loop of the thunk expects
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counts(), std::pair(uint64_t{3030}, uint64_t{30}));
}

TEST(Stats, JsonComesBackAsItWas) {
  const Tensor x = numbers(kFloat);
  for (int i = 0; i < 5; ++i) x.exp();
  Library change(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  change.impl("exp", &plain);
  const Stats s = stats(), back = statsFromJson(statsJson(s));
  EXPECT_EQ(statsTable(back), statsTable(s));
  const PairStats &a = rowOf(s, "aten::exp", "Float contiguous"), &b = rowOf(back, "aten::exp", "Float contiguous");
  EXPECT_EQ(b.plan, a.plan);
  EXPECT_EQ(b.invalidated_by, "aten::exp: CPU changed to kernel");
  EXPECT_EQ(b.invalidations, 1u);
  EXPECT_EQ(b.in_thunks, 1u);
  EXPECT_THAT(statsTable(back), HasSubstr("aten::exp keys={CPU}: aten::exp: CPU changed to kernel"));
  EXPECT_THROW(statsFromJson("{}"), Error);
  EXPECT_THROW(statsFromJson("nonsense"), Error);
  EXPECT_THROW(statsFromJson(R"({"version": 99})"), Error);
}

}  // namespace
}  // namespace shunt::jit
