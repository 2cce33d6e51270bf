// Random programs whose regions run as native code from the second run on: they leave what the graph does.
#include "src/compile/program/plan.h"
#include "tests/programs/each_program.h"
#include "tests/programs/traced.h"

#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <iostream>

namespace programs {
namespace {

using shunt::compiled::nativeRuns;
using shunt::compiled::Plan;

class NativePrograms : public EachProgram {
 protected:
  NativePrograms() : EachProgram(7104) {}
  static constexpr int kRuns = 4;
};

// A compile takes several milliseconds, so one program in four.
TEST_F(NativePrograms, LeaveWhatTheGraphLeaves) {
  const uint64_t before = nativeRuns();
  uint64_t plans = 0;
  forEach([&](const Program& program, const Outcome&) -> std::string {
    if (program.seed % 4 != 0 && !isOne()) return "";
    const Traced traced = traceProgram(program, {});
    const auto seeded = [&] { shunt::manual_seed(program.seed); };
    seeded();
    const Outcome expected = runGraph(program, traced, traced.graph);
    const Plan plan(traced.graph, {.native_after = 1});
    ++plans;
    for (int run = 0; run < kRuns; ++run) {
      seeded();
      const Outcome got =
          outcomeOf(program, traced, [&](const std::vector<Tensor>& inputs) { return plan.run(inputs); });
      const std::string d = firstDifference(expected, got, Level::kAll);
      if (!d.empty()) return "run " + std::to_string(run) + ": " + d + "\n" + traced.graph.print() + plan.describe();
    }
    return "";
  });
  const shunt::jit::FusedStats fused = shunt::jit::stats().fused;
  std::cout << nativeRuns() - before << " native runs, " << fused.compiled << " loops compiled, " << fused.refused
            << " refused" << std::endl;
  if (!isOne()) EXPECT_GT(nativeRuns() - before, 3 * plans);
  EXPECT_EQ(fused.failed, 0u);
}

}  // namespace
}  // namespace programs
