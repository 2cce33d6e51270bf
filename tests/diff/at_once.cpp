// main() of test programs in which every pair is compiled by its first call, in the caller.
#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>

int main(int argc, char** argv) {
  if (std::getenv("SHUNT_JIT_SYNC") == nullptr) {
    setenv("SHUNT_JIT_SYNC", "1", 1);
    setenv("SHUNT_JIT_THRESHOLD", "1", 1);
    execv("/proc/self/exe", argv);  // switches are read before main
    std::perror("execv");
    return 2;
  }
  shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of overridden kernels
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
