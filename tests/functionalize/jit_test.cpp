// Functionalize and thunks: entering and leaving compiles nothing and moves nothing, and plain calls meet their thunks
// again.
#include "src/dispatch/thunk.h"
#include "tests/functionalize/util.h"

#include <shunt/jit/jit.h>

#include <set>

namespace shunt::test {
namespace {

std::set<void*> addresses() {
  std::set<void*> all;
  for (const auto& t : jit::publishedThunks()) all.insert(t->code);
  return all;
}

TEST(FunctionalizeJit, ThunksStayWhereTheyAre) {
  const Tensor x = randn({16}), w = randn({16}).requires_grad_();
  const auto step = [](const Tensor& a, const Tensor& b) {
    const Tensor y = (a + b).relu().mul(a);
    y.add_(1);
    return y.sum().item<float>();
  };
  const float expected = step(x, w);
  for (int i = 0; i < 100; ++i) step(x, w);
  const Tensor fx = to_functional(x), fw = to_functional(w);
  for (int i = 0; i < 100; ++i) {  // what kernels and fake tensors call inside are ordinary pairs, and get hot
    const FunctionalizeGuard guard;
    ASSERT_EQ(step(x, w), expected);
    ASSERT_EQ(step(fx, fw), expected);
  }
  jit::wait_idle();
  const auto before = addresses();
  const auto compiled = jit::stats().compiled;
  ASSERT_GE(before.size(), 3u);
  for (int i = 0; i < 1000; ++i) {
    const FunctionalizeGuard guard;
    ASSERT_EQ(step(x, w), expected);
    ASSERT_EQ(step(fx, fw), expected);
  }
  jit::wait_idle();
  EXPECT_EQ(addresses(), before);
  EXPECT_EQ(jit::stats().compiled, compiled) << jit::statsTable();

  const uint64_t in_thunks = jit::calls_in_thunks();
  EXPECT_EQ(step(x, w), expected);
  EXPECT_GE(jit::calls_in_thunks(), in_thunks + 3);
}

}  // namespace
}  // namespace shunt::test
