// Native code is timed against the block loop, and the faster one stays.
#include "tests/compile/plan_parts.h"
#include "tests/support/same_bits.h"

#include "src/compile/loops/trial.h"
#include "src/compile/program/plan.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace shunt::compiled {
namespace {

using testing::HasSubstr;

/// Which one stays where they take so long, and how many turns it took.
std::pair<Trial::Verdict, int> decide(std::chrono::microseconds native, std::chrono::microseconds blocks) {
  Trial trial;
  int turns = 0, natives = 0;
  for (; trial.verdict() == Trial::Verdict::kOpen && turns < 1000; ++turns)
    trial.run([&] { std::this_thread::sleep_for(native), ++natives; }, [&] { std::this_thread::sleep_for(blocks); });
  EXPECT_GT(natives, turns / 3);
  EXPECT_LT(natives, turns - turns / 3);
  return {trial.verdict(), turns};
}

TEST(Trial, TheFasterOneStays) {
  using std::chrono::microseconds;
  const auto native = decide(microseconds(10), microseconds(2000)),
             blocks = decide(microseconds(2000), microseconds(10));
  EXPECT_EQ(native.first, Trial::Verdict::kNative);
  EXPECT_EQ(blocks.first, Trial::Verdict::kBlocks);
  EXPECT_LT(native.second, 100);
}

// Whichever it is, each run's bits are the same, and it ends.
TEST(Trial, OfAPlanEnds) {
  const std::vector<Tensor> in = {randn({100, 3}), randn({3})};
  const Graph graph = trace([](const auto& t) { return ((t[0] * t[1]).exp() + t[0]).tanh() * t[1]; }, in);
  const Tensor expected = graph.run(in)[0];
  const Plan plan(graph, {.native_after = 2});
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const Tensor got = plan.run(in)[0];
      EXPECT_TRUE(test::sameBits(expected, got));
    }
  };
  run(4);
  jit::wait_idle();
  run(100);
  const uint64_t before = nativeRuns();
  run(10);
  const uint64_t native = nativeRuns() - before;
  EXPECT_TRUE(native == 0 || native == 10) << native;
  const PlanCode code = test::codeOf(plan).at(0);
  EXPECT_EQ(code.state, native == 0 ? PlanCode::State::kInterpreted : PlanCode::State::kNative) << code.text();
  if (native == 0) EXPECT_EQ(code.note, "native code is slower");
}

}  // namespace
}  // namespace shunt::compiled
