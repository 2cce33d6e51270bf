// The fuzzer's corpus, and what a few thousand mutations make of it.
#include "tests/files/read_anything.h"
#include "tests/support/seed.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace shunt::test {
namespace {

std::vector<std::pair<std::string, std::string>> corpus() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& entry : std::filesystem::directory_iterator(SHUNT_FILES_CORPUS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    out.emplace_back(entry.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {}));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The name says what becomes of it: good-..., bad-...
TEST(FilesCorpus, IsReadAsItsNamesSay) {
  AnyReader reader;
  const auto files = corpus();
  EXPECT_GE(files.size(), 20u);
  for (const auto& [name, bytes] : files) EXPECT_EQ(reader.read(bytes), name.starts_with("good-")) << name;
}

TEST(FilesCorpus, ItsMutationsAreErrorsOrTensors) {
  constexpr int kTimes = 3000;
  const uint64_t seed = drawnSeed();
  std::cout << "SHUNT_TEST_SEED=" << seed << std::endl;
  std::mt19937_64 engine(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(engine() % n); };
  constexpr uint64_t kNumbers[] = {
      0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~uint64_t{0}};
  const auto files = corpus();
  AnyReader reader;
  for (int i = 0; i < kTimes; ++i) {
    std::string bytes = files[below(files.size())].second;
    for (size_t edits = 1 + below(3); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = below(bytes.size());
      const uint64_t number = kNumbers[below(std::size(kNumbers))];
      switch (below(5)) {
        case 0:
          bytes[at] = static_cast<char>(engine());
          break;
        case 1:
          bytes.erase(at, 1 + below(16));
          break;
        case 2:
          bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(32)));
          break;
        case 3:
          bytes.replace(at, std::min(sizeof number, bytes.size() - at), reinterpret_cast<const char*>(&number),
                        std::min<size_t>(sizeof number, size_t{1} << below(4)));
          break;
        default: {
          const std::string& other = files[below(files.size())].second;
          bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
        }
      }
    }
    ASSERT_NO_THROW(reader.read(bytes)) << "mutation " << i;
  }
}

}  // namespace
}  // namespace shunt::test
