// A mode parks thunks and gives them back: nothing is compiled or dropped for it.
#include "src/dispatch/thunk.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>

#include <gtest/gtest.h>

#include <set>

namespace shunt {
namespace {

struct PassOn : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  int64_t calls = 0;
};

struct PassOnAtKernel : PassOn {
  Level level() const override { return Level::kKernel; }
};

std::set<void*> addresses() {
  std::set<void*> all;
  for (const auto& t : jit::publishedThunks()) all.insert(t->code);
  return all;
}

// Runs `once` with a step of real tensors and its result 1,000 times, after the step's thunks are there: they stay, and
// are met again afterwards.
template <class F>
void expectThunksStay(F&& once) {
  Tensor x = randn({16}), w = randn({16}).requires_grad_();
  const auto step = [&] { return (x + w).relu().mul(x).sum().item<float>(); };
  const float expected = step();
  for (int i = 0; i < 100; ++i) step();
  const auto before = addresses();
  const auto compiled = jit::stats().compiled;
  const auto invalidated = jit::invalidation_log().size();
  ASSERT_GE(before.size(), 3u);

  for (int i = 0; i < 1000; ++i) once(step, expected);
  EXPECT_EQ(addresses(), before);
  EXPECT_EQ(jit::stats().compiled, compiled) << jit::statsTable();
  EXPECT_EQ(jit::invalidation_log().size(), invalidated);

  const uint64_t in_thunks = jit::calls_in_thunks();
  EXPECT_EQ(step(), expected);
  EXPECT_GE(jit::calls_in_thunks(), in_thunks + 3) << "they are not met again";
}

TEST(JitModes, ThunksStayWhereTheyAreWhileModesComeAndGo) {
  PassOn mode;
  expectThunksStay([&](const auto& step, float expected) {
    const DispatchModeGuard guard(mode);
    ASSERT_EQ(step(), expected);
  });
  EXPECT_GE(mode.calls, 4000);
}

TEST(JitModes, ThunksStayWhereTheyAreWhileModesAtKernelComeAndGo) {
  PassOnAtKernel mode;
  expectThunksStay([&](const auto& step, float expected) {
    const DispatchModeGuard guard(mode);
    ASSERT_EQ(step(), expected);
  });
  EXPECT_GE(mode.calls, 4000);
}

// Autograd's wrapper stands above the mode, and could be inlined; what would be saved is little, and a mode that stays
// costs no compile either.
TEST(JitModes, NothingIsCompiledForCallsUnderAModeAtKernel) {
  const Tensor x = randn({7, 3}), w = randn({7, 3}).requires_grad_();
  PassOnAtKernel mode;
  const DispatchModeGuard guard(mode);
  const auto compiled = jit::stats().compiled;
  for (int i = 0; i < 3000; ++i) (x * w).tanh();
  jit::wait_idle();
  EXPECT_EQ(jit::stats().compiled, compiled) << jit::statsTable();
  EXPECT_EQ(mode.calls, 6000);
}

TEST(JitModes, ThunksStayWhereTheyAreWhileFakeTensorModesComeAndGo) {
  expectThunksStay([](const auto& step, float expected) {
    {
      const FakeTensorMode mode;
      const Tensor x = ones({16}), w = ones({16}).requires_grad_();
      (x + w).relu().mul(x).sum().backward();
      ASSERT_TRUE(is_fake(w.grad()));
    }
    ASSERT_EQ(step(), expected);
  });
}

}  // namespace
}  // namespace shunt
