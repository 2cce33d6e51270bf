// Thunks made by hand whose times are known against their interpreted kernel's: which stay, and which have to go.
#include "tests/dispatch/util.h"

#include "src/dispatch/thunk.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace shunt {
namespace {

using namespace test;
using testing::HasSubstr;

using Fn = int64_t(const Tensor&);

constexpr int64_t kInterpreted = 1, kCompiled = 2;
std::atomic<int64_t> kernel_calls{0}, kernel_ns{0}, thunk_ns{0};

void spin(int64_t ns) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  while (ns > 0 && std::chrono::steady_clock::now() < end) {
  }
}

int64_t kernel(const Tensor&) {
  kernel_calls.fetch_add(1, std::memory_order_relaxed);
  spin(kernel_ns);
  return kInterpreted;
}

int64_t code(OperatorKernel*, DispatchKeySet, const Tensor&) {
  spin(thunk_ns);
  return kCompiled;
}

class HandMade final : public jit::Thunk {};

class NeverLose : public testing::Test {
 protected:
  NeverLose() {
    impl.impl("op", [this](DispatchKeySet ks, const Tensor& t) {
      keys = ks.raw();
      return kernel(t);
    });
    op.typed<Fn>().call(x);  // leaves its keys
    auto thunk = make_intrusive<HandMade>();
    thunk->op = &op.op();
    thunk->keys = keys;
    thunk->signature = detail::signatureOf(x);
    thunk->code = reinterpret_cast<void*>(&code);
    published = jit::publish(thunk);
  }
  ~NeverLose() override { jit::retireAll("the test is over"); }

  static Library defined() {
    Library block = fragment("lose");
    block.def("op(Tensor x) -> int");
    return block;
  }
  static void times(int64_t of_kernel, int64_t of_thunk) {
    kernel_ns = of_kernel;
    thunk_ns = of_thunk;
  }
  void call(int n) {
    const auto typed = op.typed<Fn>();
    for (int i = 0; i < n; ++i) typed.call(x);
  }
  static size_t inForce() { return jit::publishedThunks().size(); }

  Library def = defined();
  Library impl = implBlock("lose", DispatchKey::CPU);
  OperatorHandle op = findOp("lose::op");
  std::atomic<uint64_t> keys{0};
  Tensor x = cpuTensor();
  bool published = false;
};

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

// Under SHUNT_JIT_KEEP=1 only, as a test of its own.
TEST_F(NeverLose, DISABLED_KeptThunksAreNotTimed) {
  ASSERT_TRUE(published);
  times(0, 20'000);
  kernel_calls = 0;
  call(10'000);
  EXPECT_EQ(inForce(), 1u);
  EXPECT_EQ(kernel_calls, 0);
}

}  // namespace
}  // namespace shunt
