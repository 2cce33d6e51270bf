// fork() with thunks: the child keeps those that it has, also one that it is inside of, makes its own, and uses its own
// threads.
#include "tests/diff/child.h"
#include "tests/diff/many_calls.h"
#include "tests/diff/thunks.h"

#include <shunt/core/parallel.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <unistd.h>

namespace diff {
namespace {

using namespace shunt;

/// Runs `work` in a child and returns its exit status; one that hangs is ended by a signal.
int inChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child != 0) return statusOf(child);
  alarm(kSecondsForAChild);
  _exit(work());
}

TEST(Fork, TheChildKeepsItsThunksWhileTheParentRefillsTheMemory) {
  const Tensor a = numbers({4, 8}), b = numbers({4, 8});
  const std::string expected = bytesOf(a.sub(b));
  a.sub(b);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    if (read(ready[0], &c, 1) != 1) _exit(3);
    const uint64_t before = jit::calls_in_thunks();
    bool good = true;
    for (int i = 0; i < 100; ++i) good &= bytesOf(a.sub(b)) == expected;
    good &= jit::calls_in_thunks() >= before + 100;
    good &= bytesOf(a.sub(numbers({8}))).size() == 128;  // a pair that nobody compiled
    const Tensor leaf = numbers({4, 8}).requires_grad_();
    leaf.sub(b).sum().backward();
    jit::clear();
    good &= bytesOf(a.sub(b)) == expected;
    _exit(good ? 0 : 1);
  }
  jit::clear();
  Dispatcher::singleton().reclaim();
  for (int i = 0; i < 2; ++i)
    for (const Call& call : calls()) call(Operands());  // other code at the old addresses, if anything wrote there
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  EXPECT_EQ(statusOf(child), 0);
  EXPECT_EQ(bytesOf(a.sub(b)), expected);
  close(ready[0]), close(ready[1]);
}

TEST(Fork, InsideAKernelThatAThunkCalled) {
  static pid_t child;
  static bool fork_now;
  static int ready[2];
  fork_now = false;
  ASSERT_EQ(pipe(ready), 0);
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("mul.Tensor", [](const Tensor& x, const Tensor& y) {
    if (fork_now) {
      fork_now = false;
      child = fork();
      char c;
      if (child == 0 && read(ready[0], &c, 1) != 1) _exit(3);
    }
    return x.add(y);
  });
  const Tensor leaf = numbers({4, 8}).requires_grad_(), b = numbers({4, 8});
  for (int i = 0; i < 3; ++i) leaf.mul(b);
  const uint64_t before = jit::calls_in_thunks();
  fork_now = true;
  const Tensor y = leaf.mul(b);  // both processes return through the thunk
  if (child == 0) {
    bool good =
        bytesOf(y) == bytesOf(b.add(b)) && y.grad_fn()->name() == "MulBackward0" && bytesOf(leaf.mul(b)) == bytesOf(y);
    // Nobody compiled at the fork, so the child does now, and throws what it has away.
    const uint64_t compiled = jit::stats().compiled;
    jit::clear();
    const Operands x;
    for (int i = 0; i < 2; ++i)
      for (const Call& call : calls()) call(x);
    good &= jit::stats().compiled >= compiled + calls().size();
    good &= bytesOf(leaf.mul(b)) == bytesOf(y);
    _exit(good ? 0 : 1);
  }
  EXPECT_GT(jit::calls_in_thunks(), before);
  block.reset();
  jit::clear();
  Dispatcher::singleton().reclaim();
  for (int i = 0; i < 2; ++i)
    for (const Call& call : calls()) call(Operands());
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  EXPECT_EQ(statusOf(child), 0);
  close(ready[0]), close(ready[1]);
}

TEST(Fork, AtAQuietTimeTheChildCompilesOnItsOwn) {
  const Tensor a = numbers({6, 5}), b = numbers({6, 5}, kDouble);
  jit::set_enabled(false);
  const std::string expected = bytesOf(a.lt(b));
  jit::set_enabled(true);
  const uint64_t compiled = jit::stats().compiled;
  EXPECT_EQ(inChild([&] {
              for (int round = 0; round < 2; ++round) {
                const uint64_t before = jit::calls_in_thunks();
                for (int i = 0; i < 10; ++i)
                  if (bytesOf(a.lt(b)) != expected) return 1;
                if (jit::calls_in_thunks() < before + 9) return 2;
                jit::clear();  // frees in its own slab, and compiles there again
              }
              if (jit::stats().compiled < compiled + 2) return 3;
              return inChild([&] {  // a child's child
                       const uint64_t before = jit::calls_in_thunks();
                       for (int i = 0; i < 10; ++i)
                         if (bytesOf(a.lt(b)) != expected) return 1;
                       return jit::calls_in_thunks() < before + 9 ? 2 : 0;
                     }) == 0
                         ? 0
                         : 4;
            }),
            0);
  EXPECT_EQ(jit::stats().compiled, compiled) << "the parent's compiler is another";
}

TEST(Fork, WhileAnotherThreadCompilesTheChildGoesOnInterpreted) {
  const std::vector<std::string> expected = interpretedResults();
  std::atomic<bool> stop{false};
  std::thread compiling([&] {
    const Operands x;
    while (!stop.load()) {
      jit::clear();
      firstWrong(x, expected);
    }
  });
  int interpreted = 0, children = 0;
  // Nearly every fork comes upon a compile; one that does not leaves a child that compiles.
  while (interpreted < 3 && ++children < 50) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int status = inChild([&] {
      const uint64_t before = jit::stats().compiled;
      jit::clear();
      const Operands x;
      for (int i = 0; i < 2; ++i)
        if (firstWrong(x, expected) >= 0) return 1;
      jit::wait_idle();
      return jit::stats().compiled > before ? 2 : 0;
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1) << status;
    interpreted += status == 0;
  }
  stop = true;
  compiling.join();
  EXPECT_EQ(interpreted, 3) << "of " << children << " children";
}

// The pool's threads stay in the parent; whoever waits for them waits for ever.
TEST(Fork, LargeOperatorsRunInAChildOfAProcessWithAPool) {
  const int before = get_num_threads();
  set_num_threads(4);
  const Tensor a = shunt::arange(1 << 20, TensorOptions(kFloat)), m = numbers({96, 96}), h = m.to(kBFloat16);
  const auto work = [&] {
    return bytesOf(a.add(a).sum()) + bytesOf(m.mm(m)) + bytesOf(h.mm(h).to(kFloat)) + bytesOf(a.exp());
  };
  const std::string expected = work();
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;  // the pool's places are taken at the fork, and stay so in the child
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      while (!stop.load()) a.add(a);
    });
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(inChild([&] {
                for (int round = 0; round < 3; ++round)
                  if (work() != expected) return 1;
                set_num_threads(3);
                return work() == expected ? 0 : 2;
              }),
              0);
  }
  stop = true;
  for (std::thread& t : others) t.join();
  set_num_threads(before);
}

}  // namespace
}  // namespace diff
