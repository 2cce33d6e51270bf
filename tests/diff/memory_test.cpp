// What compiling and retiring for a long time leaves behind: nothing. And no memory that can be written and run.
#include "tests/diff/many_calls.h"

#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace diff {
namespace {

using namespace shunt;

struct Mapping {
  std::string permissions, name;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    Mapping m;
    std::string range, offset, device, inode;
    std::istringstream(line) >> range >> m.permissions >> offset >> device >> inode >> m.name;
    all.push_back(std::move(m));
  }
  return all;
}

/// Of a line of /proc/self/status, in KiB.
int64_t statusKiB(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  return -1;
}

void compileAll(const Operands& x, const std::vector<std::string>& expected) {
  ASSERT_EQ(firstWrong(x, expected), -1);
  jit::clear();
  Dispatcher::singleton().reclaim();
}

TEST(Memory, NoneCanBeWrittenAndRun) {
  const std::vector<std::string> expected = interpretedResults();
  const Operands x;
  ASSERT_EQ(firstWrong(x, expected), -1);
  ASSERT_GT(jit::stats().code_bytes, 10'000u);
  size_t executable_views = 0;
  for (const Mapping& m : mappings()) {
    EXPECT_FALSE(m.permissions[1] == 'w' && m.permissions[2] == 'x') << m.permissions << ' ' << m.name;
    executable_views += m.name.find("shunt-jit") != std::string::npos && m.permissions[2] == 'x';
  }
  EXPECT_EQ(executable_views, 1u);
}

TEST(Memory, IsTheSameAfterManyCompiles) {
  const std::vector<std::string> expected = interpretedResults();
  const Operands x;
  // The compiler starts its modules anew every 256 compiles, so both measurements come after some of its rounds.
  constexpr uint64_t kWarm = 300, kMeasured = 300;
  const auto compileUntil = [&](uint64_t compiles) {
    while (jit::stats().compiled < compiles) compileAll(x, expected);
  };
  const uint64_t begin = jit::stats().compiled;
  compileUntil(begin + kWarm);
  const size_t maps = mappings().size(), code = jit::stats().code_bytes;
  const int64_t anonymous = statusKiB("RssAnon");
  compileUntil(begin + kWarm + kMeasured);
  const int64_t grown = statusKiB("RssAnon") - anonymous;
  std::printf("%lu compiles: %zu mappings, then %zu; %ld KiB more of anonymous memory\n", kMeasured, maps,
              mappings().size(), grown);
  EXPECT_EQ(mappings().size(), maps);
  EXPECT_EQ(jit::stats().code_bytes, code);
  EXPECT_LT(grown, 4096);
}

}  // namespace
}  // namespace diff
