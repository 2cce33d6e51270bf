// SHUNT_JIT_KEEP=1, in the environment of this program.
#include "tests/dispatch/timed_thunk.h"

namespace shunt {
namespace {

using namespace test;
using Keep = TimedThunk;

TEST_F(Keep, SlowThunksStayAndNoneIsTimed) {
  ASSERT_TRUE(published);
  times(0, 20'000);
  kernel_calls = 0;
  call(10'000);
  EXPECT_EQ(inForce(), 1u);
  EXPECT_EQ(kernel_calls, 0);
}

}  // namespace
}  // namespace shunt
