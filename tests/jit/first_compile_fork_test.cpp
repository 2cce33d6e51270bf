// Forks that come upon the first compile of a process, when the compiler is loaded and its locks are made.
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace shunt {
namespace {

constexpr int kRounds = 20;
constexpr unsigned kSecondsForAChild = 20;

/// The wait status of a child that runs `f`, dies when it takes too long, and exits with 0 where `f` gives true.
int statusOfChild(unsigned seconds, const std::function<bool()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/// Forks until another thread has compiled its first pair. Each child forks too, which takes all locks.
bool childrenForkDuringTheFirstCompile() {
  std::atomic<bool> stop{false}, compiled{false};
  std::thread caller([&] {
    const Tensor a = ones({16}), b = ones({16});
    while (!stop) {
      for (int i = 0; i < 1000; ++i) add(a, b);
      compiled = jit::calls_in_thunks() != 0;
    }
  });
  bool good = true;
  for (int after = 0; after < 3 && good; after += compiled)
    good = statusOfChild(kSecondsForAChild,
                         [] { return statusOfChild(kSecondsForAChild, [] { return true; }) == 0; }) == 0;
  stop = true;
  caller.join();
  return good;
}

TEST(Fork, AChildOfAForkAtTheFirstCompileForksAgain) {
  for (int round = 0; round < kRounds; ++round)  // each in a process that has compiled nothing
    ASSERT_EQ(statusOfChild(10 * kSecondsForAChild, &childrenForkDuringTheFirstCompile), 0) << "round " << round;
}

}  // namespace
}  // namespace shunt
