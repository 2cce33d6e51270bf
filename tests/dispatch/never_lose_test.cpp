// Thunks whose times are known: which stay, and which have to go.
#include "tests/dispatch/timed_thunk.h"

#include <thread>
#include <vector>

namespace shunt {
namespace {

using namespace test;
using testing::HasSubstr;
using NeverLose = TimedThunk;

TEST_F(NeverLose, ASlowThunkLeavesItsOperator) {
  ASSERT_TRUE(published);
  times(0, 20'000);
  for (int i = 0; i < 200 && inForce() != 0; ++i) call(64);
  EXPECT_EQ(inForce(), 0u);
  const auto log = jit::invalidationLog();
  ASSERT_FALSE(log.empty());
  EXPECT_THAT(log.back().cause, HasSubstr("slower than the interpreter"));
  EXPECT_THAT(log.back().what, HasSubstr("lose::op"));
  EXPECT_EQ(op.typed<Fn>().call(x), kInterpreted);
  Dispatcher::singleton().checkInvariants();
}

TEST_F(NeverLose, AFastThunkStaysAndIsTimedNoMore) {
  ASSERT_TRUE(published);
  times(20'000, 0);
  kernel_calls = 0;
  call(20'000);
  EXPECT_EQ(inForce(), 1u);
  const int64_t compared = kernel_calls;
  EXPECT_GE(compared, 31) << "the interpreter was not tried often enough to be compared";
  call(20'000);
  EXPECT_EQ(kernel_calls, compared) << "the comparison did not end";
}

TEST_F(NeverLose, EachSizeIsJudgedByItself) {
  ASSERT_TRUE(published);
  times(20'000, 0);
  call(20'000);
  ASSERT_EQ(inForce(), 1u);
  x = cpuTensor(1000);
  times(0, 20'000);
  for (int i = 0; i < 1000 && inForce() != 0; ++i) call(64);
  EXPECT_EQ(inForce(), 0u);
}

TEST_F(NeverLose, SeveralThreadsJudgeTogether) {
  ASSERT_TRUE(published);
  times(0, 20'000);
  std::atomic<bool> out{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 200 && !out; ++k) {
        call(64);
        if (inForce() == 0) out = true;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(out);
  Dispatcher::singleton().checkInvariants();
}

}  // namespace
}  // namespace shunt
