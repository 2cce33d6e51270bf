// SHUNT_ISA: each level is really taken, all give the same bits, and a value that can't be is reported and ignored.
#include <shunt/core/isa.h>

#include "tests/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace shunt {
namespace {

struct Outcome {
  std::string isa;
  int level = -1, operations = 0;
  std::string checksum, all_output;
};

Outcome runBattery(const std::string& isa) {
  const std::string setting = isa.empty() ? "env -u SHUNT_ISA " : "SHUNT_ISA=" + isa + " ";
  const std::string command = setting + SHUNT_ISA_BATTERY " 2>&1";
  Outcome out;
  const test::CommandResult ran = test::runCommand(command);
  EXPECT_EQ(ran.status, 0) << ran.text;
  out.all_output = ran.text;
  if (ran.text.empty()) return out;
  // Warnings come first, the result is the last line.
  const std::string text = out.all_output.substr(0, out.all_output.size() - 1);
  std::istringstream(text.substr(text.rfind('\n') + 1)) >> out.isa >> out.level >> out.operations >> out.checksum;
  return out;
}

const char* const kNames[] = {"baseline", "v3", "v4"};

TEST(Isa, EveryLevelIsTakenAndGivesTheSameBits) {
  const int best = static_cast<int>(detail::bestIsa());
  const Outcome reference = runBattery("baseline");
  EXPECT_EQ(reference.isa, "baseline");
  EXPECT_GT(reference.operations, 2000);
  for (int level = 0; level <= best; ++level) {
    const Outcome forced = runBattery(kNames[level]);
    EXPECT_EQ(forced.isa, kNames[level]);
    EXPECT_EQ(forced.level, level);
    EXPECT_EQ(forced.operations, reference.operations);
    EXPECT_EQ(forced.checksum, reference.checksum) << kNames[level];
    EXPECT_THAT(forced.all_output, ::testing::Not(::testing::HasSubstr("warning")));
  }
  EXPECT_EQ(runBattery("").isa, kNames[best]);
}

TEST(Isa, ABadValueWarnsAndIsIgnored) {
  const Outcome bad = runBattery("avx9000");
  EXPECT_EQ(bad.isa, kNames[static_cast<int>(detail::bestIsa())]);
  EXPECT_THAT(bad.all_output, ::testing::HasSubstr("SHUNT_ISA=avx9000: expected baseline, v3 or v4; using "));
}

TEST(Isa, ALevelThatTheCpuLacksIsRefused) {
  if (detail::bestIsa() == Isa::kV4) {
    // Every level exists here; what remains to see is that the order of levels is the one the comparison uses.
    EXPECT_LT(Isa::kBaseline, Isa::kV3);
    EXPECT_LT(Isa::kV3, Isa::kV4);
    return;
  }
  const Outcome refused = runBattery("v4");
  EXPECT_EQ(refused.isa, kNames[static_cast<int>(detail::bestIsa())]);
  EXPECT_THAT(refused.all_output, ::testing::HasSubstr("needs a CPU with x86-64-v4"));
}

}  // namespace
}  // namespace shunt
