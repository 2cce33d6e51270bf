// Note [Edges of folded entries] (jit/emit/redispatches.h): which keysets a thunk redispatches with is found, and code
// that depends on an entry without an edge is refused, also where the finding is broken.
#include "jit/emit/redispatches.h"
#include "jit/emit/optimise.h"
#include "jit/emit/planned_calls.h"
#include "jit/emit/thunk_module.h"
#include "tests/jit/util.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

using testing::HasSubstr;

constexpr auto kCpu = static_cast<size_t>(slotOf(DispatchKey::CPU));
const DispatchKeySet kRecording{DispatchKey::AutogradCPU, DispatchKey::CPU};

Plan planFor(const char* op, const char* overload) {
  CompileRequest request;
  request.op = &Dispatcher::singleton().findSchemaOrThrow(op, overload).op();
  request.keys = kRecording.raw();
  Plan plan = Plan::make(request, Libraries::take());
  EXPECT_EQ(plan.refusal, "");
  return plan;
}

/// What is wrong with the optimised thunk of the plan; and the keysets found on the way.
std::string refusalOf(const Plan& plan, const Reliance& reliance, std::vector<Redispatch>& redispatches) {
  Extraction extraction(Library::host(), HostSymbols::instance());
  must(buildThunk(plan, reliance, extraction));
  must(optimise(extraction.module(), &redispatches));
  return unfolded(extraction.module());
}

TEST(Redispatches, OfAChainAreFoundAndRelied) {
  const Plan plan = planFor("aten::add", "Tensor");
  Reliance reliance = plan.foreseen();
  std::vector<Redispatch> redispatches;
  EXPECT_EQ(refusalOf(plan, reliance, redispatches), "");
  ASSERT_FALSE(redispatches.empty());
  for (const Redispatch& r : redispatches) {
    EXPECT_TRUE(r.known);
    EXPECT_EQ(r.chain, 0u);
    EXPECT_TRUE(r.keys.has(DispatchKey::CPU)) << r.keys;
    EXPECT_FALSE(reliance[0].relyOn(r.keys)) << "the plan foresaw it";
  }
}

// The seeded fault: a slot that the chain runs through has no edge.
TEST(Redispatches, AnEntryWithoutAnEdgeIsRefused) {
  for (const auto& [op, overload] :
       {std::pair("aten::add", "Tensor"), std::pair("aten::mul", "Tensor"), std::pair("aten::relu", "")}) {
    const Plan plan = planFor(op, overload);
    Reliance reliance = plan.foreseen();
    ASSERT_TRUE(reliance[0].slots.test(kCpu));
    reliance[0].slots.reset(kCpu);
    std::vector<Redispatch> redispatches;
    const std::string why = refusalOf(plan, reliance, redispatches);
    EXPECT_THAT(why, HasSubstr("on which the thunk has no edge")) << op;
    EXPECT_THAT(why, HasSubstr(std::string(op) + (*overload != 0 ? "." : "") + overload + " CPU"));
    bool found = false;
    for (const Redispatch& r : redispatches) found |= reliance[0].relyOn(r.keys);
    EXPECT_TRUE(found && reliance[0].slots.test(kCpu)) << "the keysets would have told";
  }
}

// Nothing that a look-up can do with an entry without an edge is folded away.
TEST(Redispatches, WhatStandsForSuchAnEntryNeverFolds) {
  const std::string globals = R"(
    @"shunt.unrelied.x CPU" = extern_weak global i8
    @"shunt.unrelied.x Meta" = extern_weak global i8
    @known = external global i8
    @snapshot = private constant <{ ptr, ptr, ptr }> <{ ptr @"shunt.unrelied.x CPU", ptr @"shunt.unrelied.x Meta", ptr @known }>
    declare void @host()
    define i64 @f(i64 %n) uwtable {
      %meta = getelementptr i8, ptr @snapshot, i64 8
      %third = getelementptr i8, ptr @snapshot, i64 16
      %inside = getelementptr i8, ptr @snapshot, i64 11
      )";
  const char* const uses[] = {
      "%p = load ptr, ptr @snapshot  %c = icmp eq ptr %p, null  %r = zext i1 %c to i64",
      "%p = load ptr, ptr @snapshot  %q = load ptr, ptr %meta  %c = icmp eq ptr %p, %q  %r = zext i1 %c to i64",
      "%p = load ptr, ptr %meta  %q = load ptr, ptr %third  %c = icmp ne ptr %p, %q  %r = zext i1 %c to i64",
      "%p = load ptr, ptr @snapshot  %c = icmp eq ptr %p, @host  %r = zext i1 %c to i64",
      "%p = load ptr, ptr @snapshot  call void %p()  %r = add i64 %n, 1",
      "%p = load i64, ptr @snapshot  %r = and i64 %p, 7",
      "%p = load i8, ptr %inside  %r = zext i8 %p to i64",
      "%p = load i32, ptr %meta  %r = zext i32 %p to i64",
  };
  for (const char* use : uses) {
    TextModule source(globals + use + "  ret i64 %r }");
    must(optimise(*source.module));
    EXPECT_THAT(usedWithoutEdge(*source.module), HasSubstr("the table's entry x ")) << use;
  }
  TextModule control(globals +
                     "%p = load ptr, ptr %third  %c = icmp eq ptr %p, null  %r = zext i1 %c to i64  ret i64 %r }");
  must(optimise(*control.module));
  EXPECT_EQ(usedWithoutEdge(*control.module), "");
}

std::vector<Redispatch> redispatchesOf(const std::string& caller) {
  TextModule source(R"(
    declare void @host(i64)
    define internal void @planned(i64 %ks, ptr %x) { call void @host(i64 %ks)  ret void }
    )" + caller);
  must(noteRedispatch(3, *source.module->getFunction("planned")));
  must(noteRedispatch(3, *source.module->getFunction("planned")));  // once
  std::vector<Redispatch> out;
  must(optimise(*source.module, &out));
  EXPECT_EQ(source.module->getFunction("shunt.redispatch.3"), nullptr);
  return out;
}

TEST(Redispatches, AreKnownWhereTheirKeysetsAreConstants) {
  const auto one = redispatchesOf("define void @f(ptr %x) uwtable { call void @planned(i64 40, ptr %x)  ret void }");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].known && one[0].chain == 3 && one[0].keys.raw() == 40);
  const auto two = redispatchesOf(
      "define void @f(i1 %c, ptr %x) uwtable { %k = select i1 %c, i64 40, i64 24  call void @planned(i64 %k, ptr %x)  "
      "ret void }");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].keys.raw() + two[1].keys.raw(), 64u);
  const auto unknown =
      redispatchesOf("define void @f(i64 %k, ptr %x) uwtable { call void @planned(i64 %k, ptr %x)  ret void }");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_FALSE(unknown[0].known);
  EXPECT_TRUE(redispatchesOf("define void @f(i64 %k, ptr %x) uwtable { ret void }").empty()) << "one that never runs";
}

TEST(Redispatches, AFunctionWithoutAKeysetIsAnError) {
  TextModule source("define void @planned(ptr %x) { ret void }");
  EXPECT_THAT(llvm::toString(noteRedispatch(0, *source.module->getFunction("planned"))), HasSubstr("takes no keyset"));
}

TEST(Redispatches, AKeysetWithoutABackendReliesOnTheFirstOnes) {
  ChainUse use;
  EXPECT_TRUE(use.relyOn(DispatchKeySet::of(Functionality::Dense)));
  EXPECT_TRUE(use.slots.test(kCpu) && use.slots.test(static_cast<size_t>(slotOf(DispatchKey::Undefined))));
  EXPECT_FALSE(use.relyOn(DispatchKeySet(DispatchKey::CPU)));
  EXPECT_TRUE(use.relyOn(DispatchKeySet(DispatchKey::Meta)));
}

}  // namespace
}  // namespace shunt::jit::test
