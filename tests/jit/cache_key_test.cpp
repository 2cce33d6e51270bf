// What a key of the disk cache is made of: names in the place of addresses, and build ids.
#include "jit/cache/cache_key.h"
#include "jit/cache/process_addresses.h"
#include "jit/host/build_id.h"
#include "jit/host/host_symbols.h"
#include "jit/host/host_target.h"
#include "kernels/pointwise/descriptor.h"
#include "tests/jit/util.h"
#include "tests/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

namespace shunt::jit::test {
namespace {

using testing::HasSubstr;

/// A plan of no operator, with addresses to name.
struct Addresses {
  Addresses() {
    plan.request.counters = &counters;
    for (int slot : {3, 4, 9}) plan.op.table[static_cast<size_t>(slot)].unboxed = &code[0];
    plan.op.table[5].unboxed = &code[1];
  }
  CallCounters counters;
  char code[2];
  Plan plan;
};

TEST(PlanSymbols, OneNameForEachAddressAndBack) {
  const Addresses a;
  const PlanSymbols symbols(a.plan);
  EXPECT_EQ(symbols.name(&a.code[0]), "plan:code.3");
  EXPECT_EQ(symbols.name(&a.code[1]), "plan:code.5");
  EXPECT_EQ(symbols.name(&a.counters.guard_misses), "plan:guard_misses");
  EXPECT_EQ(symbols.name(&symbols), "");
  for (const void* p : {static_cast<const void*>(&a.code[0]), static_cast<const void*>(&a.code[1]),
                        static_cast<const void*>(&a.counters.calls)})
    EXPECT_EQ(symbols.address(symbols.name(p)), reinterpret_cast<uint64_t>(p));
  EXPECT_EQ(symbols.address("plan:code.4"), reinterpret_cast<uint64_t>(&a.code[0]));
  for (const char* none : {"plan:code.6", "plan:code.", "plan:code", "plan:code.x", "plan:", "code.3", "plan:functor.3",
                           "plan:code.99999"})
    EXPECT_EQ(symbols.address(none), std::nullopt) << none;
}

TEST(PlanSymbols, PrintWhatIsEqualAndWhatIsNotThere) {
  const auto first = std::make_unique<Addresses>(), second = std::make_unique<Addresses>();
  const std::string printed = PlanSymbols(first->plan).print();
  EXPECT_EQ(PlanSymbols(second->plan).print(), printed) << "at other addresses";
  second->plan.op.table[9].unboxed = &second->code[1];
  EXPECT_NE(PlanSymbols(second->plan).print(), printed) << "another one's";
  second->plan.op.table[9].unboxed = nullptr;
  EXPECT_NE(PlanSymbols(second->plan).print(), printed) << "none";
  second->plan.op.table[9].unboxed = &second->code[0];
  EXPECT_EQ(PlanSymbols(second->plan).print(), printed);
  second->plan.request.counters = nullptr;
  EXPECT_NE(PlanSymbols(second->plan).print(), printed) << "calls are not counted";
}

TEST(ProcessAddresses, AreFoundWhereverTheyStand) {
  const Addresses a;
  const PlanSymbols symbols(a.plan);
  const std::string number = std::to_string(reinterpret_cast<uint64_t>(&a.code[1]));
  const auto holds = [&](const std::string& text) { return holdsProcessAddress(*TextModule(text).module, symbols); };
  EXPECT_TRUE(holds("define ptr @f() { ret ptr inttoptr (i64 123456789012 to ptr) }"));
  EXPECT_TRUE(holds("define ptr @f() { ret ptr getelementptr (i8, ptr inttoptr (i64 123456789012 to ptr), i64 8) }"));
  EXPECT_TRUE(holds("define i64 @f() { ret i64 " + number + " }"));
  EXPECT_TRUE(holds("@g = constant [2 x i64] [i64 1, i64 " + number + "]"));
  EXPECT_TRUE(holds("@g = constant { i8, i64 } { i8 1, i64 " + number + " }"));
  EXPECT_TRUE(holds("declare void @\"lib3:g\"()  define void @f() { call void @\"lib3:g\"()  ret void }"));
  EXPECT_FALSE(holds("define ptr @f() { ret ptr inttoptr (i64 16 to ptr) }"));
  EXPECT_TRUE(
      holdsProcessAddress(*TextModule("define ptr @f() { ret ptr inttoptr (i64 123456789012 to ptr) }").module));
  EXPECT_TRUE(holdsProcessAddress(
      *TextModule("declare i1 @\"lib3:g\"()  define i1 @f() { %r = call i1 @\"lib3:g\"()  ret i1 %r }").module));
  EXPECT_FALSE(holdsProcessAddress(*TextModule("define i64 @f() { ret i64 123456789012 }").module)) << "without a plan";
  for (const char* n : {"123456789012", "0", "-1", "-4096", "-8192"})  // the last ones stand for nothing in LLVM's maps
    EXPECT_FALSE(holds(std::string("define i64 @f() { ret i64 ") + n + " }")) << n;
  EXPECT_FALSE(holds("@g = constant [2 x i64] [i64 1, i64 2]  define ptr @f() { ret ptr null }"));
  EXPECT_FALSE(
      holds("declare void @g()  @\"plan:code.3\" = external global i8  @\"host:h\" = external global i8 "
            "define ptr @f() { call void @g()  call void @\"host:h\"()  ret ptr @\"plan:code.3\" }"));
}

TEST(BuildId, IsTheLibrarysOwn) {
  const std::string id = buildIdAt(HostSymbols::instance().bitcode().data());
  EXPECT_THAT(shunt::test::runCommand("readelf -n " SHUNT_LIBRARY_FILE).text, HasSubstr("Build ID: " + id + "\n"));
  const std::string own = buildIdAt(reinterpret_cast<const void*>(&buildIdAt));
  EXPECT_THAT(shunt::test::runCommand("readelf -n /proc/" + std::to_string(getpid()) + "/exe").text,
              HasSubstr("Build ID: " + own + "\n"));
  EXPECT_NE(id, own);
  EXPECT_EQ(buildIdAt(nullptr), "");
  EXPECT_EQ(buildIdAt(std::make_unique<int>(1).get()), "") << "memory of no library";
}

TEST(CacheKey, TellsTheProcess) {
  const std::string& key = processKey();
  EXPECT_THAT(key, HasSubstr("libshunt " + buildIdAt(HostSymbols::instance().bitcode().data()) + "\n"));
  EXPECT_THAT(key, HasSubstr("\ncpu " + HostTarget::instance().features() + "\n"));
  EXPECT_THAT(key, HasSubstr("\nthread-locals " + HostSymbols::instance().thread_locals() + "\n"));
}

template <class Functor>
elementwise::GenericLoopFn loopOf(ScalarType common) {
  const elementwise::KernelDescriptor& op = elementwise::kDescriptor<Functor>;
  return (*op.generic_shard + op.row)[static_cast<size_t>(common)];
}

FusedLoopSpec fusedSpec() {
  FusedLoopSpec spec;
  spec.inputs = {{kFloat, FusedStride::kUnit}, {kFloat, FusedStride::kZero, 1}};
  for (uint16_t i = 0; i < 2; ++i)
    spec.steps.push_back({loopOf<functors::Mul>(kFloat),
                          kFloat,
                          kFloat,
                          {{FusedOperand::kInput, 0}, {FusedOperand::kInput, 1}},
                          i,
                          {1, 2, 3}});
  spec.outputs = {{0, FusedStride::kUnit}, {1, FusedStride::kUnit}};
  return spec;
}

TEST(CacheKey, OfAFusedLoopIsItsWholeDescription) {
  const std::string key = must(cacheKey(fusedSpec()));
  EXPECT_EQ(key.find(processKey()), 0u);
  EXPECT_EQ(must(cacheKey(fusedSpec())), key);
  EXPECT_EQ(lineOf(key, "fused"), "2");
  EXPECT_EQ(lineOf(key, "inputs"), "Float, Float");
  EXPECT_THAT(lineOf(key, "step"), HasSubstr(buildIdAt(HostSymbols::instance().bitcode().data()) + " _Z"));
  const std::function<void(FusedLoopSpec&)> changes[] = {
      [](FusedLoopSpec& s) { s.inputs[0].dtype = kDouble; },
      [](FusedLoopSpec& s) { s.inputs[1].dtype = kDouble; },
      [](FusedLoopSpec& s) { s.inputs[0].stride = FusedStride::kAny; },
      [](FusedLoopSpec& s) { s.inputs[0].stride = FusedStride::kZero; },
      [](FusedLoopSpec& s) { s.inputs[1].constant = 2; },
      [](FusedLoopSpec& s) { s.inputs[1].constant = 0; },
      [](FusedLoopSpec& s) { s.inputs[1].constant = std::nullopt; },
      [](FusedLoopSpec& s) { s.inputs.push_back(s.inputs[0]); },
      [](FusedLoopSpec& s) { s.steps[0].body = loopOf<functors::Add>(kFloat); },
      [](FusedLoopSpec& s) { s.steps[0].body = loopOf<functors::Mul>(kDouble); },
      [](FusedLoopSpec& s) { s.steps[1].body = loopOf<functors::Add>(kFloat); },
      [](FusedLoopSpec& s) { s.steps[0].common = kDouble; },
      [](FusedLoopSpec& s) { s.steps[0].result = kBool; },
      [](FusedLoopSpec& s) { s.steps[0].first_scalar = 3; },
      [](FusedLoopSpec& s) { s.steps[0].constants = {}; },
      [](FusedLoopSpec& s) { s.steps[0].constants = {1, 2, 4}; },
      [](FusedLoopSpec& s) { s.steps[0].constants = {1, 23}; },
      [](FusedLoopSpec& s) { s.steps[1].operands[0] = {FusedOperand::kStep, 0}; },
      [](FusedLoopSpec& s) { s.steps[0].operands[0].index = 1; },
      [](FusedLoopSpec& s) { s.steps[0].operands.pop_back(); },
      [](FusedLoopSpec& s) { s.steps.push_back(s.steps[1]); },
      [](FusedLoopSpec& s) { s.outputs[0].step = 1; },
      [](FusedLoopSpec& s) { s.outputs[0].stride = FusedStride::kAny; },
      [](FusedLoopSpec& s) { s.outputs.pop_back(); },
      [](FusedLoopSpec& s) { s.short_rows = true; },
  };
  std::set<std::string> keys = {key};
  for (size_t i = 0; i < std::size(changes); ++i) {
    FusedLoopSpec spec = fusedSpec();
    changes[i](spec);
    EXPECT_TRUE(keys.insert(must(cacheKey(spec))).second) << "change " << i;
  }
}

bool ownLoop(const elementwise::View&, const elementwise::View*, int64_t, const elementwise::ScalarSlot*, ScalarType) {
  return true;
}

TEST(CacheKey, OfAFusedLoopNeedsLoopsThatAreTheLibrarys) {
  FusedLoopSpec spec = fusedSpec();
  spec.steps[1].body = nullptr;
  EXPECT_EQ(messageOf(cacheKey(spec)), "the library of a step's loop has no build id");
  spec.steps[1].body = &ownLoop;
  EXPECT_EQ(messageOf(cacheKey(spec)), "a step's loop is of another library");
}

TEST(CacheKey, NeedsTheBuildIdOfEveryStepsLibrary) {
  Addresses a;
  a.plan.op.name = "my::op";
  Step step;
  step.symbol = "kernel";
  step.verdict = StepVerdict::kInline;
  step.entry.unboxed = reinterpret_cast<void*>(&buildIdAt);
  a.plan.steps = {step};
  const std::string key = must(cacheKey(a.plan, PlanSymbols(a.plan)));
  EXPECT_EQ(lineOf(key, "operator"), "my::op");
  EXPECT_THAT(lineOf(key, "step"), HasSubstr(buildIdAt(reinterpret_cast<void*>(&buildIdAt)) + " kernel"));
  EXPECT_EQ(lineOf(key, "no such fact"), "");
  const auto heap = std::make_unique<char>();
  a.plan.steps[0].entry.unboxed = heap.get();
  EXPECT_EQ(messageOf(cacheKey(a.plan, PlanSymbols(a.plan))), "the library of a step of my::op has no build id");
  a.plan.steps[0] = step;
  a.plan.steps[0].symbol = "lib3:kernel";
  EXPECT_EQ(messageOf(cacheKey(a.plan, PlanSymbols(a.plan))),
            "a step of my::op is of a library with bitcode of its own");
}

}  // namespace
}  // namespace shunt::jit::test
