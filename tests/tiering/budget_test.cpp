// When the compiler may work: what it costs is a part of what the process has used, by clocks of the test's own; and
// what of the queue comes next.
#include "src/tiering/budget.h"

#include "src/tiering/request_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shunt::jit {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(Budget, AStepIsDueWhenItWouldBeAPartOfWhatTheProcessHasUsed) {
  Budget budget(4);
  const int64_t first = budget.dueAt(Step::kQuick);
  EXPECT_GE(first, 100 * kMs) << "LLVM has to be loaded";
  Budget twice(8);
  EXPECT_EQ(twice.dueAt(Step::kQuick), first / 2);
  EXPECT_LT(budget.dueAt(Step::kLook), first);
}

TEST(Budget, WhatWasSpentAndWhatAStepTakesAreExpectedOfTheNext) {
  Budget budget(10);
  budget.spend(Step::kQuick, 50 * kMs);  // with LLVM's load: what no later step has to do
  EXPECT_EQ(budget.spent(), 50 * kMs);
  for (int i = 0; i < 50; ++i) budget.spend(Step::kQuick, 8 * kMs);
  EXPECT_EQ(budget.dueAt(Step::kQuick), 10 * (50 + 400 + 10) * kMs) << "a quarter more than the mean";
  for (int i = 0; i < 50; ++i) budget.spend(Step::kThorough, 20 * kMs);
  EXPECT_EQ(budget.dueAt(Step::kQuick), 10 * (1450 + 10) * kMs);
  EXPECT_EQ(budget.dueAt(Step::kThorough), 10 * (1450 + 25) * kMs);
}

TEST(Budget, AStepThatTookTooLongIsPaidForByAWait) {
  Budget budget(3);
  budget.spend(Step::kQuick, 30 * kMs);
  const int64_t before = budget.dueAt(Step::kQuick);
  budget.spend(Step::kQuick, 3000 * kMs);
  EXPECT_GE(budget.dueAt(Step::kQuick), before + 100'000 * kMs);
}

TEST(Budget, TheFirstOfItsKindTakesMoreThanOthersWill) {
  Budget cold(3), loaded(3);
  loaded.loaded();
  EXPECT_LT(loaded.dueAt(Step::kLook), cold.dueAt(Step::kLook));
  EXPECT_LT(loaded.dueAt(Step::kQuick), cold.dueAt(Step::kQuick));
  Budget warm = loaded;
  warm.spend(Step::kQuick, 0);
  EXPECT_LT(warm.dueAt(Step::kQuick), loaded.dueAt(Step::kQuick));
  warm.cooledDown();
  EXPECT_EQ(warm.dueAt(Step::kQuick), loaded.dueAt(Step::kQuick)) << "bitcode has to be read again";
}

TEST(Budget, ZeroIsNeverAndAHundredIsAtOnce) {
  Budget budget(0);
  EXPECT_EQ(budget.dueAt(Step::kLook), Budget::kNever);
  budget.setPercent(1e-300);
  EXPECT_EQ(budget.dueAt(Step::kLook), Budget::kNever);
  budget.setPercent(100);
  EXPECT_TRUE(budget.isLifted());
  budget.spend(Step::kThorough, int64_t{1} << 60);
  EXPECT_EQ(budget.dueAt(Step::kThorough), 0);
}

/// A queue of pairs that have the numbers 1, 2... as keys, with counts that the test sets.
struct Queue : testing::Test {
  bool push(Waiting waiting = Waiting::kInterpreted, Tier tier = Tier::kFirst) {
    CompileRequest request;
    request.keys = calls.size() + 1;
    request.tier = tier;
    calls.push_back(0);
    return queue.push(request, waiting, [this, n = calls.size() - 1] { return calls[n]; });
  }
  RequestQueue::Allowance at(int64_t used) const { return {budget, used, lifted, stored}; }
  /// "compile 3", "look for 3", or "wait".
  std::string next(int64_t used) {
    int64_t due = 0;
    job = queue.take(at(used), due);
    if (!job) {
      EXPECT_GT(due, used);
      return "wait";
    }
    EXPECT_LE(due, used);
    return (job->step == Step::kLook ? "look for " : "compile ") +
           std::to_string(std::get<CompileRequest>(job->work()).keys);
  }

  std::vector<uint64_t> calls;
  Budget budget{3};
  bool lifted = false, stored = false;
  RequestQueue queue;
  std::optional<RequestQueue::Job> job;
};

TEST_F(Queue, NothingIsTakenBeforeItIsDue) {
  int64_t due = 0;
  EXPECT_FALSE(queue.take(at(1000), due));
  EXPECT_EQ(due, Budget::kNever) << "nothing is there";
  push();
  EXPECT_FALSE(queue.take(at(0), due));
  EXPECT_EQ(due, budget.dueAt(Step::kQuick));
  EXPECT_EQ(next(due - 1), "wait");
  EXPECT_EQ(next(due), "compile 1");
  EXPECT_TRUE(queue.empty());
}

TEST_F(Queue, WhatSavesMostComesFirst) {
  for (int i = 0; i < 3; ++i) push();
  calls = {600, 90'000, 700};
  const int64_t late = budget.dueAt(Step::kThorough);
  EXPECT_EQ(next(late), "compile 2");
  EXPECT_EQ(next(late), "compile 3");
  EXPECT_EQ(next(late), "compile 1");
}

TEST_F(Queue, OfEqualOnesTheFirstThatCame) {
  for (int i = 0; i < 3; ++i) push();
  const int64_t late = budget.dueAt(Step::kThorough);
  for (const char* expected : {"compile 1", "compile 2", "compile 3"}) EXPECT_EQ(next(late), expected);
}

TEST_F(Queue, CallsOfLongAgoCountLess) {
  for (int i = 0; i < 6; ++i) push();
  const int64_t late = budget.dueAt(Step::kThorough);
  calls = {100'000, 600, 1'000'000, 900'000, 800'000, 700'000};
  for (const char* expected : {"compile 3", "compile 4", "compile 5", "compile 6"}) EXPECT_EQ(next(late), expected);
  calls[1] += 20'000;  // and the other one is not called any more
  EXPECT_EQ(next(late), "compile 2");
}

// A call of the second tier saves less than one of the first, beside the interpreter.
TEST_F(Queue, KindsArePutInOrderByWhatTheySaveNotByTheirKind) {
  push(Waiting::kWithThunk, Tier::kSecond);
  push();
  calls = {1000, 1000};
  const int64_t late = budget.dueAt(Step::kThorough);
  EXPECT_EQ(next(late), "compile 2");
  push();
  calls = {1'000'000, 0, 1000};
  EXPECT_EQ(next(late), "compile 1");
  EXPECT_EQ(next(late), "compile 3");
}

TEST_F(Queue, APairsKindDecidesToo) {
  CompileRequest plain, with_loop;
  plain.keys = 1;
  with_loop.keys = 2;
  with_loop.kinds[0].places.loop = &with_loop;
  EXPECT_GT(savedByCall(with_loop, Waiting::kInterpreted), savedByCall(plain, Waiting::kInterpreted));
  queue.push(plain, Waiting::kInterpreted, [] { return 1000; });
  queue.push(with_loop, Waiting::kInterpreted, [] { return 1000; });
  EXPECT_EQ(next(budget.dueAt(Step::kThorough)), "compile 2");
}

TEST_F(Queue, WhatMayBeStoredIsLookedForBeforeAnythingIsCompiled) {
  stored = true;
  push();
  push();
  calls = {600, 700};
  EXPECT_EQ(next(budget.dueAt(Step::kLook) - 1), "wait");
  EXPECT_EQ(next(budget.dueAt(Step::kLook)), "look for 2");
  queue.pushBack(std::move(*job));  // in vain
  EXPECT_EQ(next(budget.dueAt(Step::kLook)), "look for 1");
  budget.spend(Step::kLook, kMs);  // it was there
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(next(budget.dueAt(Step::kLook)), "wait") << "it is not looked for again";
  push();
  EXPECT_EQ(next(budget.dueAt(Step::kLook)), "look for 3") << "what comes later, too";
  EXPECT_EQ(next(budget.dueAt(Step::kQuick)), "compile 2");
}

TEST_F(Queue, WithoutABudgetEverythingIsCompiledAtOnce) {
  stored = true;
  for (int i = 0; i < 3; ++i) push();
  lifted = true;
  EXPECT_EQ(next(0), "compile 1") << "which looks at the disk, too";
  lifted = false;
  EXPECT_EQ(next(0), "wait");
  budget.setPercent(100);
  EXPECT_EQ(next(0), "compile 2");
  budget.setPercent(0);
  EXPECT_EQ(next(int64_t{1} << 60), "wait");
}

TEST_F(Queue, IsBoundedForEachKind) {
  for (size_t i = 0; i < RequestQueue::kMost; ++i) ASSERT_TRUE(push(Waiting::kWithThunk));
  EXPECT_FALSE(push(Waiting::kWithThunk));
  EXPECT_TRUE(push(Waiting::kInterpreted));
  lifted = true;
  next(0);
  next(0);
  EXPECT_TRUE(push(Waiting::kWithThunk)) << "there is room again";
}

}  // namespace
}  // namespace shunt::jit
