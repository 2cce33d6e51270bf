// Which kernels OpenBLAS runs: those that suit the CPU, or the ones that the user names. And what it is asked for, by a
// library in its place (fake_openblas.cpp).
#include "kernels/linalg/blas.h"

#include <shunt/core/isa.h>
#include <shunt/shunt.h>

#include "tests/support/run_command.h"

#include <gmock/gmock.h>
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

/// What a product of m x k and k x n, "N" or "T" each, asks an OpenBLAS with this core for, in a new process of this
/// program. Without Shunt's own kernels, which take a part of the shapes.
std::string callsWith(const std::string& core, const std::string& product) {
  const test::CommandResult ran =
      test::runCommand("env LD_LIBRARY_PATH=" FAKE_OPENBLAS_FOLDER " SHUNT_ISA=baseline SHUNT_JIT=0 FAKE_CORE=" + core +
                       " /proc/" + std::to_string(getpid()) + "/exe --multiply " + product + " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.text;
  return ran.text;
}

// See Note [Small products with a transposed right operand] in gemm.cpp.
TEST(Blas, TransposesTheLeftOperandWhereThatKernelIsSlow) {
  for (const char* core : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    EXPECT_EQ(callsWith(core, "NT 32 64 128"), "sgemm TT 32 64 128 lda 32\ngood\n") << core;
  for (const char* core : {"Haswell", "Zen", "Nehalem", "Sandybridge", "another"})
    EXPECT_EQ(callsWith(core, "NT 32 64 128"), "sgemm NT 32 64 128 lda 128\ngood\n") << core;
}

TEST(Blas, TransposesTheLeftOperandOfSmallProductsOnly) {
  // At the bounds: sides of 16, 4096 elements on the left, 1,000,000 multiplications. Sides that no block of 4 fits.
  for (const char* product : {"16 16 16", "64 64 64", "16 61 256", "41 250 97", "17 19 23"})
    EXPECT_THAT(callsWith("SkylakeX", std::string("NT ") + product),
                testing::MatchesRegex(std::string("sgemm TT ") + product + " lda [0-9]+\ngood\n"));
  for (const char* product : {"15 16 16", "16 15 16", "16 16 15", "16 16 257", "41 254 97"})
    EXPECT_THAT(callsWith("SkylakeX", std::string("NT ") + product),
                testing::MatchesRegex(std::string("sgemm NT ") + product + " lda [0-9]+\ngood\n"));
  EXPECT_EQ(callsWith("SkylakeX", "NN 32 64 128"), "sgemm NN 32 64 128 lda 128\ngood\n");
  EXPECT_EQ(callsWith("SkylakeX", "TN 32 64 128"), "sgemm TN 32 64 128 lda 32\ngood\n");
  EXPECT_EQ(callsWith("SkylakeX", "TT 32 64 128"), "sgemm TT 32 64 128 lda 32\ngood\n");
}

/// "good" where mm's result is that of plain loops. Small whole numbers: nothing is rounded, in whatever order.
const char* multiply(const std::string& orientations, int64_t m, int64_t n, int64_t k) {
  const auto matrix = [](bool transposed, int64_t rows, int64_t columns) {
    const Tensor t = arange(rows * columns, kLong).remainder(7).to(kFloat);
    return transposed ? t.reshape({columns, rows}).t() : t.reshape({rows, columns});
  };
  const Tensor a = matrix(orientations[0] == 'T', m, k), b = matrix(orientations[1] == 'T', k, n);
  const Tensor expected = mm(a.to(kLong), b.to(kLong));
  return equal(mm(a, b).to(kLong), expected) ? "good" : "bad";
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
  if (argc == 6 && std::string(argv[1]) == "--multiply") {
    puts(multiply(argv[2], std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
