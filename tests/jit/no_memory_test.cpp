// Memory runs out while thunks are dropped: the call that dropped them may say so, and nothing else happens.
#include "tests/jit/starving_new.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

namespace {

using namespace shunt;

/// Three pairs, in thunks from the second call on.
void compileSome() {
  const Tensor a = ones({16}), b = full({16}, 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(a.add(b).sum().item<float>(), 48);
    ASSERT_EQ(a.mul(b).relu().sum().item<float>(), 32);
  }
}

TEST(NoMemory, WhileThunksAreDropped) {
  int refused = 0, n = 0;
  for (bool all_succeeded = false; !all_succeeded; ++n) {
    compileSome();
    const uint64_t compiled = jit::stats().compiled;
    ASSERT_GT(compiled, 0u);
    left = n;
    try {
      jit::clear();
      all_succeeded = left != 0;
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    left = -1;
    Dispatcher::singleton().checkInvariants();
    jit::clear();
    ASSERT_LT(n, 10000);
  }
  EXPECT_GT(refused, 3);
  EXPECT_GT(n, 10);
  compileSome();
  EXPECT_GT(jit::calls_in_thunks(), 0u);
}

}  // namespace
