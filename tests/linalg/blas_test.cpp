// Which kernels OpenBLAS runs: those that suit the CPU, or the ones that the user names.
#include "kernels/linalg/blas.h"

#include <shunt/core/isa.h>

#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace shunt;

/// The core's name in a new process of this program, with `environment` before the command.
std::string coreWith(const std::string& environment) {
  const std::string command = environment + " /proc/" + std::to_string(getpid()) + "/exe --print-core";
  const std::string text = test::runCommand(command).text;
  return text.substr(0, text.find('\n'));
}

TEST(Blas, ChoosesKernelsForThisCpu) {
  const std::string core = coreWith("env -u OPENBLAS_CORETYPE");
  ASSERT_NE(core, "");
  if (detail::bestIsa() == Isa::kBaseline) return;
  for (const char* slow : {"Prescott", "Core2", "Penryn", "Generic", "unknown"}) EXPECT_NE(core, slow);
}

TEST(Blas, TakesTheUsersChoice) {
  EXPECT_EQ(coreWith("env OPENBLAS_CORETYPE=Nehalem"), "Nehalem");
  EXPECT_EQ(coreWith("env OPENBLAS_CORETYPE=Prescott"), "Prescott");
}

TEST(Blas, LeavesTheEnvironmentAsItWas) {
  EXPECT_EQ(coreWith("env -u OPENBLAS_CORETYPE SHUNT_TEST_PRINT_VARIABLE=1"), "unset");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--print-core") {
    const std::string core = shunt::linalg::blasCoreName();
    const char* variable = std::getenv("OPENBLAS_CORETYPE");
    puts(std::getenv("SHUNT_TEST_PRINT_VARIABLE") != nullptr ? (variable != nullptr ? variable : "unset")
                                                             : core.c_str());
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
