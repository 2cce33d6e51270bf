// A program may end at any moment of a compile: while it waits, while LLVM is being loaded, works, or has just
// finished.
#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/wait.h>

#include <string>

extern char** environ;

namespace shunt::jit::test {
namespace {

/// The program's wait status.
int runProgram(int calls) {
  std::string program = SHUNT_EXIT_PROGRAM, count = std::to_string(calls);
  char* arguments[] = {program.data(), count.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return -1;
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class Exit : public testing::TestWithParam<int> {};

// A pair is compiled from about its 512th call on: the counts end before that, at once after it, and when it may be
// done.
TEST_P(Exit, RightAfterCallsIsInOrder) {
  for (int round = 0; round < 40; ++round) {
    const int status = runProgram(GetParam());
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, Exit, testing::Values(300, 530, 600, 1000, 9000, 300000, 1000000));

}  // namespace
}  // namespace shunt::jit::test
