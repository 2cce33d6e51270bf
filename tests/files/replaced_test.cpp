// Files that are saved while tensors of them live, and while other threads load them.
#include "tests/files/samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace shunt {
namespace {

using namespace test;
using test::kButStrides;
using test::sameBits;

class Replaced : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return folder.path(std::string("x") + GetParam()); }
  const FileFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Formats, Replaced, testing::Values(".safetensors", ".npz"),
                         [](const auto& info) { return std::string(info.param + 1); });

// The mapped tensors are pages of the old file, which stays until the last of them is gone.
TEST_P(Replaced, ByTheTensorsThatWereLoadedFromIt) {
  const Tensor w = numbered({300, 7}, kFloat), b = numbered({5}, kByte);
  save({{"w", w}, {"b", b}}, path());
  const std::string before = folder.read(std::string("x") + GetParam());
  auto loaded = load(path());
  save(loaded, path());
  EXPECT_EQ(folder.read(std::string("x") + GetParam()), before);
  EXPECT_TRUE(sameBits(loaded.at("w"), w, kButStrides));
  EXPECT_TRUE(sameBits(loaded.at("b"), b, kButStrides));

  loaded.at("w").add_(1);
  save(loaded, path());
  const auto again = load(path());
  EXPECT_TRUE(sameBits(again.at("w"), w + 1, kButStrides));
  EXPECT_TRUE(sameBits(again.at("b"), b, kButStrides));
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST_P(Replaced, WhileTwoThreadsLoadIt) {
  constexpr int64_t kElements = 5000, kSaves = 30;
  const auto saveAll = [&](int64_t n) {
    save({{"one", full({kElements}, n, kLong)}, {"two", full({kElements}, n, kLong)}}, path());
  };
  saveAll(0);
  std::atomic<bool> done{false};
  std::atomic<int64_t> loads{0}, torn{0};
  const auto loadAll = [&] {
    int64_t last = 0;
    do {
      const auto t = load(path());
      const auto *one = t.at("one").data_ptr<int64_t>(), *two = t.at("two").data_ptr<int64_t>();
      bool same = one[0] >= last;  // a file that was replaced doesn't come back
      for (int64_t i = 0; i < kElements; ++i) same = same && one[i] == one[0] && two[i] == one[0];
      last = one[0];
      torn += same ? 0 : 1;
      ++loads;
    } while (!done);
  };
  std::thread first(loadAll), second(loadAll);
  for (int64_t n = 1; n <= kSaves; ++n) saveAll(n);
  done = true;
  first.join();
  second.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GE(loads, 2);
  EXPECT_EQ(load(path()).at("two")[0].item<int64_t>(), kSaves);
}

}  // namespace
}  // namespace shunt
