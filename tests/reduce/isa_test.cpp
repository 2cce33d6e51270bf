// Every instruction set and number of threads gives the same bits: isa_battery in child processes.
#include "tests/support/run_command.h"

#include <gmock/gmock.h>

#include <shunt/core/isa.h>

#include <sstream>
#include <string>

namespace shunt {
namespace {

/// What the battery prints: the instruction set and the checksum.
struct Result {
  std::string isa, checksum;
};

Result runBattery(const std::string& isa, int threads) {
  const std::string command =
      "SHUNT_ISA=" + isa + " SHUNT_NUM_THREADS=" + std::to_string(threads) + " " + SHUNT_ISA_BATTERY;
  Result result;
  std::istringstream(test::runCommand(command).text) >> result.isa >> result.checksum;
  EXPECT_FALSE(result.checksum.empty()) << "no result from: " << command;
  return result;
}

TEST(ReduceIsa, EveryInstructionSetGivesTheSameBits) {
  const Result baseline = runBattery("baseline", 1);
  ASSERT_EQ(baseline.isa, "baseline");
  for (int level = 1; level <= static_cast<int>(detail::bestIsa()); ++level) {
    const std::string isa = toString(static_cast<Isa>(level));
    const Result result = runBattery(isa, 1);
    EXPECT_EQ(result.isa, isa) << "forcing it had no effect";
    EXPECT_EQ(result.checksum, baseline.checksum) << isa;
  }
}

TEST(ReduceIsa, EveryNumberOfThreadsGivesTheSameBits) {
  const std::string best = toString(detail::bestIsa());
  const std::string expected = runBattery(best, 1).checksum;
  for (const int threads : {2, 5}) EXPECT_EQ(runBattery(best, threads).checksum, expected) << threads;
}

}  // namespace
}  // namespace shunt
