// Explores src/dispatch/publication.h together with include/shunt/core/world.h: two operators, a thunk of one that
// relies on the other; all participants at once; and shows that the exploration finds each bug planted in
// publication.h.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/seed.h"
#include "tests/world/dependent_world.h"

namespace shunt::world::model {
namespace {

template <class Bugs = NoBugs>
Outcome explore(const char* name, DependentShape shape, bool reduce = true) {
  DependentWorld<Bugs> world(shape);
  const Outcome o = world.explore(reduce);
  std::printf("%s%s: %zu states, %zu transitions, %zu ends, %zu histories, %.3g interleavings%s\n", name,
              reduce ? "" : " (unreduced)", o.states, o.transitions, o.ends, o.histories, o.interleavings,
              o.violation ? ", stopped at a violation" : "");
  return o;
}

void expectHolds(const char* name, DependentShape shape, size_t at_least) {
  const Outcome o = explore(name, shape);
  EXPECT_FALSE(o.violation.has_value()) << *o.violation;
  EXPECT_GT(o.states, at_least) << "the exploration was cut short";
}

// Two callers, a registrar, the compiler and a reclaimer, all at once. The first with two calls of the outer operator;
// the second with calls of either, and one by a kernel in the thunk. With both: 80 million states
// (world_model_explore).
constexpr DependentShape kTwoOuterCalls = {.caller = {"o", "o"}};
constexpr DependentShape kEitherCalled = {.caller = {"io", "i"}, .calls_inside = true};
// A thunk that is there from the start, and two changes.
constexpr DependentShape kThunkInForce = {
    .caller = {"o", "i"}, .calls_inside = true, .thunk_at_start = true, .compiles = 0, .registrations = 2};

// The same, and the changes are of both operators.
constexpr DependentShape kBothChange = {.caller = {"io", ""},
                                        .calls_inside = true,
                                        .thunk_at_start = true,
                                        .compiles = 0,
                                        .registrations = 2,
                                        .changes_both = true};

TEST(DependentModel, AllParticipantsTwoOuterCalls) {
  if (!test::longRun()) GTEST_SKIP() << "24 million states: SHUNT_TEST_LONG=1 (docs/testing.md)";
  expectHolds("two outer calls", kTwoOuterCalls, 10'000'000);
}
TEST(DependentModel, AllParticipantsEitherCalled) { expectHolds("either called", kEitherCalled, 2'000'000); }
TEST(DependentModel, ThunkInForce) { expectHolds("thunk in force", kThunkInForce, 1'000'000); }

TEST(DependentModel, BothChange) { expectHolds("both change", kBothChange, 10'000); }

// Small shapes: a thunk that is there from the start and what it relies on, with one caller.
constexpr DependentShape kFolds = {
    .caller = {"o", ""}, .inlines = false, .thunk_at_start = true, .compiles = 0, .reclaims = 0};
constexpr DependentShape kFoldsMet = {
    .caller = {"io", ""}, .inlines = false, .thunk_at_start = true, .compiles = 0, .reclaims = 0};
constexpr DependentShape kInlines = {
    .caller = {"io", ""}, .folds = false, .calls_inside = true, .thunk_at_start = true, .compiles = 0, .reclaims = 0};
constexpr DependentShape kCompiles = {.caller = {"o", ""}, .reclaims = 0};

TEST(DependentModel, ReductionKeepsEveryEnd) {
  for (const DependentShape& shape : {kFolds, kFoldsMet, kInlines, kCompiles}) {
    const Outcome reduced = explore("small", shape), full = explore("small", shape, false);
    EXPECT_FALSE(reduced.violation.has_value());
    EXPECT_FALSE(full.violation.has_value());
    EXPECT_EQ(reduced.ends, full.ends);
    EXPECT_LT(reduced.states, full.states);
  }
}

// ---- each seeded bug, and what the oracle must say about it ----
template <class Bugs>
void expectFound(const char* name, const char* message, DependentShape small, DependentShape large) {
  const Outcome outcomes[] = {explore<Bugs>(name, small), explore<Bugs>(name, small, false),
                              explore<Bugs>(name, large)};
  for (const Outcome& o : outcomes) {
    ASSERT_TRUE(o.violation.has_value()) << name << " was not found";
    EXPECT_NE(o.violation->find(message), std::string::npos) << *o.violation;
  }
}

struct NoVersionCheck : NoBugs {
  static constexpr bool kNoVersionCheck = true;
};
struct ChangedFirst : NoBugs {
  static constexpr bool kChangedFirst = true;
};
struct InvalidateLast : NoBugs {
  static constexpr bool kInvalidateLast = true;
};
struct KeepDependants : NoBugs {
  static constexpr bool kKeepDependants = true;
};
struct NoValidityCheck : NoBugs {
  static constexpr bool kNoValidityCheck = true;
};

constexpr const char* kStale = "a stale thunk ran after ";
constexpr const char* kAfterReturn = "a stale thunk ran after the registering call had returned";
constexpr const char* kAfterMet = "a stale thunk ran after a call had met the new entry";

TEST(DependentModelSeededBugs, NoVersionCheck) {
  expectFound<NoVersionCheck>("no version check", kAfterReturn, kCompiles, kTwoOuterCalls);
}
TEST(DependentModelSeededBugs, ChangedFirst) {
  expectFound<ChangedFirst>("changed operator first", kAfterMet, kFoldsMet, kEitherCalled);
}
TEST(DependentModelSeededBugs, InvalidateLast) {
  expectFound<InvalidateLast>("invalidated last", kStale, kInlines, kEitherCalled);
}
TEST(DependentModelSeededBugs, KeepDependants) {
  expectFound<KeepDependants>("dependants kept", kStale, kFolds, kThunkInForce);
}
TEST(DependentModelSeededBugs, NoValidityCheck) {
  expectFound<NoValidityCheck>("validity not asked", kStale, kInlines, kEitherCalled);
}

constexpr DependentShape kFoldsBothChange = {
    .caller = {"io", ""}, .inlines = false, .thunk_at_start = true, .compiles = 0, .changes_both = true, .reclaims = 0};
TEST(DependentModelSeededBugs, DependantOnlyChanges) {
  expectFound<KeepDependants>("dependant only changes", kAfterMet, kFoldsBothChange, kBothChange);
}

// Not every step guards everything: what Note [Thunks and the world] says of R4's order and R3, as theorems of the
// model.
TEST(DependentModelSeededBugs, OrderIsNotNeededWhereTheThunkAsks) {
  EXPECT_FALSE(explore<ChangedFirst>("changed operator first, thunk asks", kInlines).violation.has_value());
}
TEST(DependentModelSeededBugs, ValidityIsNotNeededWhereTheThunkFolds) {
  EXPECT_FALSE(explore<InvalidateLast>("invalidated last, thunk folds", kFoldsMet).violation.has_value());
}

}  // namespace
}  // namespace shunt::world::model
