// fork() in a program whose pairs are compiled by the compiler's thread, which stays in the parent: the child gets one
// of its own. Not under ThreadSanitizer, which allows no threads in the child of a process that had several.
#include "tests/diff/child.h"
#include "tests/diff/many_calls.h"

#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <cstdlib>

#include <unistd.h>

namespace diff {
namespace {

using namespace shunt;

/// Whether calls of a pair that nobody compiled yet are compiled, and their results are right.
bool compilesANewPair(ScalarType dtype) {
  const Tensor a = numbers({6, 5}, dtype);
  const std::string expected = bytesOf(a.neg());
  for (int i = 0; i < 100; ++i)
    if (bytesOf(a.neg()) != expected) return false;
  jit::wait_idle();
  const uint64_t before = jit::calls_in_thunks();
  for (int i = 0; i < 100; ++i)
    if (bytesOf(a.neg()) != expected) return false;
  return jit::calls_in_thunks() >= before + 90;
}

TEST(ForkOfTheWorker, TheChildHasItsOwn) {
  ASSERT_TRUE(compilesANewPair(kFloat));
  jit::wait_idle();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSecondsForAChild);
    // At exit it waits for its own thread, and for no other.
    std::exit(compilesANewPair(kDouble) && compilesANewPair(kLong) ? 0 : 1);
  }
  EXPECT_EQ(statusOf(child), 0);
  EXPECT_TRUE(compilesANewPair(kInt)) << "the parent's goes on";
}

TEST(ForkOfTheWorker, WhatWasQueuedCountsAgainInTheChild) {
  const std::vector<std::string> expected = interpretedResults();
  for (int round = 0; round < 3; ++round) {
    jit::wait_idle();
    jit::clear();
    const Operands x;
    const int calls_until_hot = 40;
    for (int i = 0; i < calls_until_hot; ++i) ASSERT_EQ(firstWrong(x, expected), -1);
    // Thirty pairs are queued by now, and the worker is somewhere in them.
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSecondsForAChild);
      for (int i = 0; i < 3 * calls_until_hot; ++i)
        if (firstWrong(x, expected) != -1) _exit(2);
      jit::wait_idle();
      for (const jit::PairStats& p : jit::stats().pairs)
        if (p.state == jit::PairState::kQueued) _exit(3);
      std::exit(0);
    }
    EXPECT_EQ(statusOf(child), 0);
    ASSERT_EQ(firstWrong(x, expected), -1);
  }
}

}  // namespace
}  // namespace diff
