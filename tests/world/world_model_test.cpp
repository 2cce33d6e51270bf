// Explores include/shunt/core/world.h with every interleaving, store buffers, a reordering compiler and a signal
// handler, and shows that the exploration finds each seeded bug.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/world/one_world.h"

namespace shunt::world::model {
namespace {

template <class Bugs = NoSeededBugs>
Outcome explore(const char* name, Shape shape, bool reduce = true) {
  World<Bugs> world(shape);
  const Outcome o = world.explore(reduce);
  std::printf("%s%s: %zu states, %zu transitions, %zu ends, %zu histories, %.3g interleavings%s\n", name,
              reduce ? "" : " (unreduced)", o.states, o.transitions, o.ends, o.histories, o.interleavings,
              o.violation ? ", stopped at a violation" : "");
  return o;
}

// All participants at once are 26 million states for one publication : world_model_explore does that. Here they
// meet in turns; callers never touch each other's memory, so what one adds to two others goes through the pairs below.
constexpr Shape kTwoCallers = {.signal = false};
constexpr Shape kNestedAndSignal = {.caller_calls = {1, 0}};
constexpr Shape kTwoCallersAndSignal = {.nested = false, .publications = 1};
constexpr Shape kCallsInARow = {.caller_calls = {3, 0}, .nested = false, .signal = false, .reclaims = 2};

void expectHolds(const char* name, Shape shape, size_t at_least) {
  const Outcome o = explore(name, shape);
  EXPECT_FALSE(o.violation.has_value()) << *o.violation;
  EXPECT_GT(o.states, at_least) << "the exploration was cut short";
}

TEST(WorldModel, TwoCallersOneNested) { expectHolds("two callers, one nested", kTwoCallers, 1'000'000); }
TEST(WorldModel, NestedCallsAndSignal) { expectHolds("nested calls and a signal", kNestedAndSignal, 1'000'000); }
TEST(WorldModel, TwoCallersAndSignal) { expectHolds("two callers and a signal", kTwoCallersAndSignal, 1'000'000); }
TEST(WorldModel, CallsInARow) { expectHolds("calls in a row, two reclaims", kCallsInARow, 10'000); }

TEST(WorldModel, ReductionKeepsEveryEnd) {
  const Shape shapes[] = {{.nested = false, .signal = false, .publications = 1},
                          {.caller_calls = {1, 0}, .nested = false, .publications = 1},
                          {.caller_calls = {2, 0}, .nested = false, .signal = false}};
  for (const Shape& shape : shapes) {
    const Outcome reduced = explore("small", shape), full = explore("small", shape, false);
    EXPECT_FALSE(reduced.violation.has_value());
    EXPECT_FALSE(full.violation.has_value());
    EXPECT_EQ(reduced.ends, full.ends);
    EXPECT_LT(reduced.states, full.states);
  }
}

// Each seeded bug, and what the oracle must say about it: in a small shape with and without the reduction, and in the
// first of the large ones above.
constexpr Shape kOneCaller = {.caller_calls = {1, 0}, .nested = false, .signal = false, .publications = 1};
constexpr Shape kOneCallerAndSignal = {.caller_calls = {1, 0}, .nested = false, .publications = 1};

template <class Bugs>
void expectFound(const char* name, const char* message, Shape small = kOneCaller, Shape large = kTwoCallers) {
  const Outcome outcomes[] = {explore<Bugs>(name, small), explore<Bugs>(name, small, false),
                              explore<Bugs>(name, large)};
  for (const Outcome& o : outcomes) {
    ASSERT_TRUE(o.violation.has_value()) << name << " was not found";
    EXPECT_NE(o.violation->find(message), std::string::npos) << *o.violation;
  }
}

struct NoFence : NoSeededBugs {
  static constexpr bool kNoFence = true;
};
struct NoRecheck : NoSeededBugs {
  static constexpr bool kNoRecheck = true;
};
struct DepthAfterFrame : NoSeededBugs {
  static constexpr bool kDepthAfterFrame = true;
};
struct NoBarrier : NoSeededBugs {
  static constexpr bool kNoBarrier = true;
};
struct ScanBeforeBarrier : NoSeededBugs {
  static constexpr bool kScanBeforeBarrier = true;
};
struct PublishByStore : NoSeededBugs {
  static constexpr bool kPublishByStore = true;
};
struct KeepFrame : NoSeededBugs {
  static constexpr bool kKeepFrame = true;
};
struct ForgetKept : NoSeededBugs {
  static constexpr bool kForgetKept = true;
};

TEST(WorldModelSeededBugs, NoFence) { expectFound<NoFence>("no fence", "freed state"); }
TEST(WorldModelSeededBugs, NoRecheck) { expectFound<NoRecheck>("no recheck", "freed state"); }
TEST(WorldModelSeededBugs, DepthAfterFrame) {
  expectFound<DepthAfterFrame>("depth after frame", "state", kOneCallerAndSignal, kNestedAndSignal);
}
TEST(WorldModelSeededBugs, NoBarrier) { expectFound<NoBarrier>("no barrier", "freed state"); }
TEST(WorldModelSeededBugs, ScanBeforeBarrier) { expectFound<ScanBeforeBarrier>("scan before barrier", "freed state"); }
TEST(WorldModelSeededBugs, PublishByStore) {
  expectFound<PublishByStore>("publish by store", "replaced before the call began");
}
TEST(WorldModelSeededBugs, KeepFrame) { expectFound<KeepFrame>("frame not cleared", "never freed"); }
TEST(WorldModelSeededBugs, ForgetKept) { expectFound<ForgetKept>("kept states forgotten", "never freed"); }

}  // namespace
}  // namespace shunt::world::model
