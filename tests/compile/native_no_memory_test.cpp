// Memory runs out in the run of a plan that asks for native code: the run says so or goes on without, and later ones
// have the code.
#include "src/compile/program/plan.h"
#include "tests/jit/starving_new.h"
#include "tests/support/same_bits.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

namespace shunt::compiled {
namespace {

TEST(NativeNoMemory, WhileCodeIsAskedFor) {
  const std::vector<Tensor> in = {randn({100}), randn({100})};
  const Graph graph = trace([](const auto& t) { return (t[0] * t[1]).exp() + t[0]; }, in);
  const Tensor expected = graph.run(in)[0];
  const auto isExpected = [&](const Tensor& got) { return test::sameBits(expected, got); };
  int failed = 0, n = 0;
  for (bool all_succeeded = false; !all_succeeded; ++n) {
    ASSERT_LT(n, 1000);
    const Plan plan(graph, {.native_after = 1});
    plan.run(in);  // records
    left = n;
    try {
      const std::vector<Tensor> got = plan.run(in);
      all_succeeded = left != 0;
      left = -1;
      EXPECT_TRUE(isExpected(got[0]));
    } catch (const std::exception&) {
      ++failed;
    }
    left = -1;
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(isExpected(plan.run(in)[0]));
    jit::wait_idle();
    const uint64_t before = nativeRuns();
    EXPECT_TRUE(isExpected(plan.run(in)[0]));
    EXPECT_EQ(nativeRuns(), before + 1) << n << "\n" << plan.describe();
  }
  EXPECT_GT(failed, 5);
}

}  // namespace
}  // namespace shunt::compiled
