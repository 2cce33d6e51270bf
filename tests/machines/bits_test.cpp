// Loops give the same bits on an emulated CPU as on this one: their checksums, for every instruction set that the CPU
// has.
#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace shunt {
namespace {

/// The battery's words: the instruction set first, the checksum last.
std::vector<std::string> runBattery(const std::string& launcher, const std::string& battery) {
  const test::CommandResult ran =
      test::runCommand("env -u SHUNT_ISA SHUNT_JIT=0 " + launcher + ' ' + battery + " 2>/dev/null");
  EXPECT_EQ(ran.status, 0) << launcher << ' ' << battery;
  std::istringstream text(ran.text);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  EXPECT_GE(words.size(), 2u) << ran.text;
  return words.size() < 2 ? std::vector<std::string>{"none", ran.text} : words;
}

struct Cpu {
  const char *name, *isa, *what, *battery;
};

class EmulatedCpu : public testing::TestWithParam<Cpu> {};

TEST_P(EmulatedCpu, GivesTheSameBits) {
  const std::string battery = GetParam().battery, qemu = std::string(SHUNT_QEMU) + " -cpu " + GetParam().name;
  const std::vector<std::string> here = runBattery("", battery), there = runBattery(qemu, battery);
  EXPECT_EQ(there.front(), GetParam().isa);
  EXPECT_EQ(there.back(), here.back());
}

INSTANTIATE_TEST_SUITE_P(Machines, EmulatedCpu,
                         testing::Values(Cpu{"Nehalem", "baseline", "Elementwise", ELEMENTWISE_BATTERY},
                                         Cpu{"Haswell", "v3", "Elementwise", ELEMENTWISE_BATTERY},
                                         Cpu{"Nehalem", "baseline", "Reduce", REDUCE_BATTERY},
                                         Cpu{"Haswell", "v3", "Reduce", REDUCE_BATTERY}),
                         [](const auto& info) { return std::string(info.param.name) + info.param.what; });

}  // namespace
}  // namespace shunt
