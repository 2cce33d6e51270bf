// Every instruction set and number of threads gives the same bits: isa_battery in child processes.
#include <gmock/gmock.h>

#include <shunt/core/isa.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace shunt {
namespace {

/// What the battery prints: the instruction set and the checksum.
struct Result {
  std::string isa, checksum;
};

Result runBattery(const std::string& isa, int threads) {
  const std::string command = "SHUNT_ISA=" + isa + " SHUNT_NUM_THREADS=" + std::to_string(threads) + " " + SHUNT_ISA_BATTERY;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char name[64] = "", sum[64] = "";
  if (!pipe || std::fscanf(pipe.get(), "%63s %63s", name, sum) != 2) ADD_FAILURE() << "no result from: " << command;
  return {name, sum};
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
