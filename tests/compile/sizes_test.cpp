// compile() for tensors whose sizes vary from call to call: which of them get a graph, and what is found among many.
#include "src/compile/calls_seen.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

namespace shunt::test {
namespace {

using compiled::CallsSeen;
using detail::CompileKind;
using testing::HasSubstr;
using testing::Not;

const auto kTwoOperators = [](const Tensor& x) { return (x + 1).relu(); };

TEST(CompileSizes, AHundredBatchSizesInAnyOrder) {
  const Tensor w = numbers({4, 3}).requires_grad_();
  const auto f = [&](const Tensor& x) { return x.mm(w).tanh() * 2; };
  auto fast = compile(f);
  std::mt19937 order(3);
  std::set<int64_t> ran;
  for (int i = 0; i < 4000; ++i) {
    const Tensor x = numbers({static_cast<int64_t>(order() % 100) + 1, 4}, static_cast<uint64_t>(i));
    const uint64_t hits = fast.counts().hits;
    const Tensor got = fast(x), expected = f(x);
    ASSERT_TRUE(same(got, expected)) << x.size(0);
    ASSERT_TRUE(same(autograd::grad({got.sum()}, {w})[0], autograd::grad({expected.sum()}, {w})[0])) << x.size(0);
    if (fast.counts().hits > hits) ran.insert(x.size(0));
  }
  EXPECT_EQ(fast.counts().variants, 32u);
  EXPECT_EQ(ran.size(), 32u) << "different sizes that ran a graph";
  EXPECT_GT(fast.counts().hits, 500u);
  EXPECT_THAT(fast.explain(), HasSubstr("at most 32 sizes of one kind can have graphs (CompileOptions::max_sizes)"));
  EXPECT_THAT(fast.explain(), HasSubstr("and 31 more like it, for ["));
  EXPECT_LT(fast.plan().size(), 2000u) << "of one variant";
}

TEST(CompileSizes, WhatComesOnceIsNotRecorded) {
  auto fast = compile(kTwoOperators);
  for (int64_t n = 2; n < 2000; ++n) fast(ones({n}));
  EXPECT_EQ(fast.counts().recorded, 0u);
  for (int i = 0; i < 2; ++i) fast(ones({3000}));
  EXPECT_EQ(fast.counts().recorded, 1u) << "and takes nobody's place";
}

TEST(CompileSizes, LaterOnesAreRecordedWhenTheyComeOften) {
  auto fast = compile(kTwoOperators, {.max_sizes = 64});
  const auto callsUntilRecorded = [&](int64_t n) {
    const uint64_t recorded = fast.counts().recorded;
    int calls = 0;
    while (fast.counts().recorded == recorded) {
      fast(ones({n}));
      if (++calls == 1000) break;
    }
    return calls;
  };
  std::vector<int> calls;
  for (int64_t n = 2; n < 35; ++n) calls.push_back(callsUntilRecorded(n));
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], 2 << (i / 8)) << i;
}

TEST(CompileSizes, EachKindHasItsOwn) {
  auto fast = compile(kTwoOperators, {.max_variants = 2, .max_sizes = 3});
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16})
    for (int64_t n = 2; n < 8; ++n)
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(ones({n}, dtype)), ones({n}, dtype) + 1));
  EXPECT_EQ(fast.counts().variants, 6u);
  EXPECT_THAT(fast.explain(), HasSubstr("at most 2 kinds of arguments can have graphs (CompileOptions::max_variants)"));
  EXPECT_THAT(fast.explain(), HasSubstr("at most 3 sizes of one kind can have graphs (CompileOptions::max_sizes)"));
  EXPECT_THAT(fast.explain(), HasSubstr("variant 1 for Double[2]"));
  EXPECT_THAT(fast.explain(), HasSubstr("and 2 more like it, for [3]; [4]\n"));
}

TEST(CompileSizes, StridesAreSizesButAnotherLayoutIsAKind) {
  auto fast = compile(kTwoOperators, {.max_variants = 1, .max_sizes = 4});
  for (int64_t n = 5; n < 8; ++n)
    for (int i = 0; i < 3; ++i) fast(ones({3, n}).narrow(1, 0, 4));
  EXPECT_EQ(fast.counts().variants, 3u);
  for (int i = 0; i < 3; ++i) fast(ones({3, 4}));
  EXPECT_EQ(fast.counts().variants, 3u);
}

TEST(CompileSizes, ABatchOfOneIsNoKind) {
  auto fast = compile(kTwoOperators, {.max_variants = 1});
  for (int64_t n = 0; n < 4; ++n)
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(ones({n})), ones({n}) + 1));
  EXPECT_EQ(fast.counts().variants, 4u);
}

TEST(CompileSizes, ARegistrationPutsAllOutOfUse) {
  auto fast = compile(kTwoOperators);
  const auto callAll = [&](const Tensor& add) {
    for (int64_t n = 2; n < 22; ++n)
      for (int i = 0; i < 8; ++i) EXPECT_TRUE(same(fast(ones({n})), ones({n}) + add)) << n;
  };
  callAll(ones({}));
  EXPECT_EQ(fast.counts().variants, 20u);
  {
    Library lib(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    lib.impl("relu", +[](const Tensor& x) { return x.clone(); });
    callAll(ones({}));
    EXPECT_EQ(fast.counts().invalidated, 20u);
    EXPECT_EQ(fast.counts().variants, 20u);
  }
  callAll(ones({}));
  EXPECT_EQ(fast.counts().invalidated, 40u);
  EXPECT_EQ(fast.counts().variants, 20u);
  EXPECT_EQ(fast.counts().recorded, 60u);
}

TEST(CompileSizes, ThreadsWithSizesOfTheirOwn) {
  const auto f = [](const Tensor& x) { return (x * 3).sigmoid() + x; };
  auto fast = compile(f);
  const auto call = [&](int64_t first) {
    for (int i = 0; i < 2000; ++i) {
      const Tensor x = full({first + 2 * (i * 7 % 24)}, i % 5);
      ASSERT_TRUE(same(fast(x), f(x)));
    }
  };
  std::thread odd([&] { call(3); }), even([&] { call(2); });
  odd.join();
  even.join();
  EXPECT_LE(fast.counts().variants, 32u);
  EXPECT_GT(fast.counts().variants, 8u);
  EXPECT_EQ(fast.counts().hits + fast.counts().eager, 4000u);
}

TEST(CompileSizes, ASizesBoundIsPositive) {
  EXPECT_THAT(errorOf([&] { compile(kTwoOperators, {.max_sizes = 0}); }),
              HasSubstr("compile: max_sizes is 0: expected 1 or more"));
}

TEST(CompileSizes, PlanAndGraphAreOfTheVariantThatRanLast) {
  auto fast = compile(kTwoOperators);
  for (const int64_t n : {5, 6})
    for (int i = 0; i < 3; ++i) fast(ones({n}));
  EXPECT_EQ(regionsOf(fast, {}, {{6}}).size(), 1u) << fast.plan();
  fast(ones({5}));
  EXPECT_EQ(regionsOf(fast, {}, {{5}}).size(), 1u) << fast.plan();
  EXPECT_EQ(fast.graph()->inputs()[0]->spec.sizes, std::vector<int64_t>{5});
}

// Of one size with weights that have a grad or none: kinds, as what is captured is known only once it is recorded.
TEST(CompileSizes, WhatIsCapturedMayDifferInEachSize) {
  const Tensor w = ones({3}).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return x * w.detach(); }, {.max_variants = 2, .max_sizes = 1});
  for (int i = 0; i < 3; ++i) fast(ones({2, 3}));
  w.sum().backward();
  for (int i = 0; i < 3; ++i) fast(ones({2, 3}));
  EXPECT_EQ(fast.counts().variants, 2u);
  w.mutable_grad() = ones({3}).t();
  w.set_data(ones({6, 3}).select(1, 0).narrow(0, 0, 3));
  for (int i = 0; i < 3; ++i) fast(ones({2, 3}));
  EXPECT_EQ(fast.counts().variants, 2u);
}

TEST(CompileCallsSeen, TheRarestAreForgotten) {
  CallsSeen seen(8, 100, 1);
  for (int i = 0; i < 8; ++i) {  // so that a size has to come four times
    seen.made({1, static_cast<uint64_t>(i)});
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(seen.isDue({1, 99}, 0));
    EXPECT_FALSE(seen.isDue({1, 100}, 0));
  }
  for (uint64_t n = 1000; n < 1000 + CallsSeen::kMostRemembered; ++n) EXPECT_FALSE(seen.isDue({1, n}, 0));
  EXPECT_LE(seen.remembered(), CallsSeen::kMostRemembered);
  EXPECT_LT(seen.remembered(), 10u) << "those that came once are gone";
  int calls = 1;
  while (!seen.isDue({1, 99}, 0)) ++calls;
  EXPECT_EQ(calls, 3) << "one of three calls is remembered";
  for (uint64_t n = 5000; n < 50000; ++n) seen.isDue({n % 7, n}, 0);
  EXPECT_LE(seen.remembered(), CallsSeen::kMostRemembered);
}

TEST(CompileCallsSeen, PlacesComeFreeAgain) {
  CallsSeen seen(1, 2, 1);
  const auto makes = [&](const CompileKind& call) {
    for (int i = 0; i < 2; ++i)
      if (seen.isDue(call, 0)) return seen.made(call), true;
    return false;
  };
  EXPECT_TRUE(makes({1, 1}));
  EXPECT_TRUE(makes({1, 2}));
  EXPECT_FALSE(makes({1, 3})) << "a third size";
  EXPECT_FALSE(makes({2, 1})) << "a second kind";
  EXPECT_TRUE(seen.hasAllKinds());
  EXPECT_TRUE(seen.hasAllSizesOfAKind());
  seen.lost({1, 1});
  EXPECT_TRUE(makes({1, 3}));
  seen.lost({1, 3});
  seen.lost({1, 2});
  EXPECT_TRUE(makes({2, 1}));
  EXPECT_FALSE(makes({1, 1}));
}

}  // namespace
}  // namespace shunt::test
