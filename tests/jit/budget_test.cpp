// The compiler's budget in a program: what it holds up, who says so, and what lifts it. The clock is the process's own,
// so nothing here is about when: with 0 % nothing is ever compiled.
#include "tests/support/run_command.h"

#include <shunt/jit/budget.h>
#include <shunt/jit/explain.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace shunt::jit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

PairStats rowOf(const std::string& op) {
  for (const PairStats& p : stats().pairs)
    if (p.op == op && p.state != PairState::kCounting) return p;
  return {};
}

/// Some calls of rsqrt of a dtype that no other test has.
struct Hot {
  explicit Hot(ScalarType dtype) : x(ones({16}, TensorOptions(dtype))) { call(); }
  void call(int times = 2000) const {
    for (int i = 0; i < times; ++i) x.rsqrt();
  }
  Tensor x;
};

TEST(JitBudget, HotPairsWaitForIt) {
  set_budget(0);
  const Hot hot(kFloat);
  EXPECT_EQ(rowOf("aten::rsqrt").state, PairState::kQueued);
  EXPECT_FALSE(stats().available) << "LLVM isn't loaded for it";
  EXPECT_THAT(rowOf("aten::rsqrt").reason, StartsWith("waits for the compiler's budget: it may use 0 %"));
  EXPECT_THAT(statsTable(), HasSubstr("waits for the compiler's budget"));
  const BudgetStats waiting = budget_stats();
  EXPECT_EQ(waiting.percent, 0);
  EXPECT_GE(waiting.waiting, 1u);
  EXPECT_EQ(waiting.compiler_ms, 0);
  EXPECT_GT(waiting.process_ms, 0);
  EXPECT_THAT(
      explain("aten::rsqrt", hot.x).verdict,
      AllOf(StartsWith("interpreted: waits for the compiler's budget: it may use 0 %"), HasSubstr("SHUNT_JIT_BUDGET")));
}

TEST(JitBudget, WaitIdleLiftsIt) {
  set_budget(0);
  const Hot hot(kDouble);
  wait_idle();
  EXPECT_THAT(explain("aten::rsqrt", hot.x).verdict, StartsWith("compiled"));
  const BudgetStats after = budget_stats();
  EXPECT_EQ(after.waiting, 0u);
  EXPECT_GT(after.lifted_ms, 0);
  EXPECT_EQ(after.compiler_ms, 0) << "what was asked for is nobody's debt";
  const uint64_t before = calls_in_thunks();
  hot.call(10);
  EXPECT_EQ(calls_in_thunks(), before + 10);
}

TEST(JitBudget, HoldsAgainAfterThat) {
  set_budget(0);
  const Hot first(kLong);
  wait_idle();
  const Hot second(kInt);
  EXPECT_GE(budget_stats().waiting, 1u);
  EXPECT_THAT(explain("aten::rsqrt", second.x).verdict, HasSubstr("waits for the compiler's budget"));
}

TEST(JitBudget, AHundredPercentIsNoBudget) {
  set_budget(0);
  const Hot hot(kBFloat16);
  EXPECT_THAT(explain("aten::rsqrt", hot.x).verdict, HasSubstr("waits"));
  set_budget(100);
  EXPECT_EQ(budget(), 100);
  // The thread starts by itself; it may do so at any time from now on.
  while (explain("aten::rsqrt", hot.x).verdict.starts_with("interpreted: waits")) hot.call(1000);
  EXPECT_THAT(explain("aten::rsqrt", hot.x).verdict, StartsWith("compiled"));
  set_budget(0);
}

TEST(JitBudget, BadPercentagesAreRefused) {
  for (const double bad : {-1.0, 100.5, std::nan("")}) EXPECT_THROW(set_budget(bad), Error) << bad;
  set_budget(12.5);
  EXPECT_EQ(budget(), 12.5);
  EXPECT_EQ(budget_stats().percent, 12.5);
}

// A child has used nothing, and waits on its own.
TEST(JitBudget, AChildOfForkHasItsOwn) {
  set_budget(0);
  const Hot hot(kHalf);
  wait_idle();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const BudgetStats fresh = budget_stats();
    const Hot its_own(kShort);
    const bool waits = budget_stats().waiting == 1;
    wait_idle();
    const bool compiled = explain("aten::rsqrt", its_own.x).verdict.starts_with("compiled");
    std::_Exit(fresh.waiting == 0 && fresh.lifted_ms == 0 && waits && compiled ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// For those below: prints what the environment made of it.
TEST(JitBudgetPrinted, Percent) { std::printf("budget is %g\n", budget()); }

std::string printedWith(const std::string& settings) {
  return shunt::test::runCommand("env -u SHUNT_JIT_SYNC -u SHUNT_JIT_KEEP -u SHUNT_JIT_BUDGET " + settings + " " +
                                 std::filesystem::read_symlink("/proc/self/exe").string() +
                                 " --gtest_filter=JitBudgetPrinted.* 2>&1")
      .text;
}

TEST(JitBudget, IsReadFromTheEnvironment) {
  EXPECT_THAT(printedWith(""), HasSubstr("budget is 3\n"));
  EXPECT_THAT(printedWith("SHUNT_JIT_BUDGET="), HasSubstr("budget is 3\n"));
  EXPECT_THAT(printedWith("SHUNT_JIT_BUDGET=20"), HasSubstr("budget is 20\n"));
  EXPECT_THAT(printedWith("SHUNT_JIT_BUDGET=0"), HasSubstr("budget is 0\n"));
  for (const char* bad : {"101", "-1", "2.5", "much"})
    EXPECT_THAT(printedWith(std::string("SHUNT_JIT_BUDGET=") + bad),
                AllOf(HasSubstr("budget is 3\n"), HasSubstr(std::string("SHUNT_JIT_BUDGET=") + bad +
                                                            ": expected a whole number from 0 to 100; using 3\n")));
}

TEST(JitBudget, SyncAndKeepLiftIt) {
  for (const char* lifting : {"SHUNT_JIT_SYNC=1", "SHUNT_JIT_KEEP=1"})
    EXPECT_THAT(printedWith(std::string("SHUNT_JIT_BUDGET=1 ") + lifting), HasSubstr("budget is 100\n"));
}

}  // namespace
}  // namespace shunt::jit
