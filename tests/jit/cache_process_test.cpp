// The disk cache in a process that does as it likes: forks, closes descriptors that it doesn't know, and has the number
// of one that was killed.
#include "jit/cache/thunk_cache.h"
#include "tests/jit/util.h"

#include <shunt/core/log.h>
#include <shunt/jit/cache.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
std::atomic<int> zeros_to_draw{0};  // so many times the random number is 0
}

// Before libc's: what is otherwise never drawn twice.
extern "C" ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  if (zeros_to_draw.load() == 0 || size != sizeof(uint64_t)) return syscall(SYS_getrandom, bytes, size, flags);
  --zeros_to_draw;
  *static_cast<uint64_t*>(bytes) = 0;
  return static_cast<ssize_t>(size);
}

namespace shunt::jit::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CacheInAProcess : public testing::Test {
 protected:
  CacheInAProcess() {
    std::string name = (fs::temp_directory_path() / "shunt_cache_XXXXXX").string();
    root = mkdtemp(name.data());
  }
  ~CacheInAProcess() override { fs::remove_all(root); }

  static CachedObject object(const std::string& key) { return {key, {}, {}, "an object"}; }
  std::vector<std::string> namesIn(const std::string& folder) const {
    std::vector<std::string> out;
    for (const auto& f : fs::directory_iterator(root / folder)) out.push_back(f.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string nameOfLeftOver(const std::string& end) const {
    return CacheDirectory::kUnfinished.str() + std::to_string(getpid()) + "-" + end;
  }

  fs::path root;
};

TEST_F(CacheInAProcess, KeepsNoDescriptorThatTheProgramMayTakeForItsOwn) {
  const std::string own = root / "own", other = root / "other";
  fs::create_directory(other);
  ThunkCache cache;
  cache.store(own, object("a"));
  EXPECT_EQ(cache.find(own, "a").answer, CacheAnswer::kLoaded);
  const int lowest = dup(0), beyond = lowest + 64;  // the cache's own would lie among them
  close(lowest);
  for (int n = 3; n < beyond; ++n) {
    std::error_code none;
    if (fs::read_symlink("/proc/self/fd/" + std::to_string(n), none) != own) continue;
    close(n);
    ASSERT_EQ(open(other.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), n);
  }
  cache.store(own, object("b"));
  EXPECT_EQ(cache.find(own, "a").answer, CacheAnswer::kLoaded);
  EXPECT_EQ(cache.find(own, "b").answer, CacheAnswer::kLoaded);
  EXPECT_THAT(namesIn("other"), ElementsAre());
  EXPECT_EQ(namesIn("own").size(), 2u);
}

TEST_F(CacheInAProcess, WhatAProcessOfItsNumberLeftOverIsNotInTheWay) {
  const std::string own = root / "own";
  fs::create_directory(own);
  fs::permissions(own, fs::perms::owner_all);
  constexpr int kMany = 1000;
  for (int n = 0; n < kMany; ++n) std::ofstream(fs::path(own) / nameOfLeftOver(std::to_string(n)));
  ThunkCache cache;
  zeros_to_draw = 3;  // the name of the first of them
  cache.store(own, object("a"));
  EXPECT_EQ(zeros_to_draw.exchange(0), 0) << "the names were not tried";
  EXPECT_EQ(cache.find(own, "a").answer, CacheAnswer::kLoaded);
  EXPECT_EQ(namesIn("own").size(), kMany + 1u) << "another process may be writing them";
}

TEST_F(CacheInAProcess, TheFirstStoreInEachDirectoryRemovesWhatIsLeftOver) {
  ThunkCache cache;
  for (const char* folder : {"one", "two"}) {
    const fs::path directory = root / folder, file = directory / nameOfLeftOver("7");
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms::owner_all);
    std::ofstream(file) << "x";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
    cache.store(directory, object("a"));
    EXPECT_THAT(namesIn(folder), ElementsAre(cacheFileName("a")));
  }
}

/// No more of a resource than `most`, while it lives.
class Limit {
 public:
  Limit(int resource, rlim_t most) : resource_(resource) {
    getrlimit(static_cast<__rlimit_resource_t>(resource), &before_);
    const rlimit now{most, before_.rlim_max};
    setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
  }
  ~Limit() { setrlimit(static_cast<__rlimit_resource_t>(resource_), &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  int resource_;
  rlimit before_{};
};

TEST_F(CacheInAProcess, ADirectoryThatCouldNotBeOpenedIsTriedAgain) {
  const std::string own = root / "own";
  ThunkCache cache;
  cache.store(own, object("a"));
  {
    const Limit no_descriptors(RLIMIT_NOFILE, 0);
    EXPECT_EQ(cache.find(own, "a").answer, CacheAnswer::kNothing);
  }
  int uses = 0;
  while (uses < 100 && cache.find(own, "a").answer != CacheAnswer::kLoaded) ++uses;
  EXPECT_GT(uses, 4) << "each use would look";
  EXPECT_LT(uses, 20);
  EXPECT_EQ(cache.find(own, "a").answer, CacheAnswer::kLoaded);
}

TEST_F(CacheInAProcess, WritingIsTriedAgain) {
  const std::string own = root / "own";
  ThunkCache cache;
  {
    const Limit no_bytes(RLIMIT_FSIZE, 0);
    cache.store(own, object("a"));
  }
  EXPECT_THAT(namesIn("own"), ElementsAre());
  for (int i = 0; i < 20; ++i) cache.store(own, object(std::to_string(i)));
  EXPECT_GT(namesIn("own").size(), 1u);
  EXPECT_LT(namesIn("own").size(), 16u);
}

// The warning about a file that can't be written goes to a file that can't be written.
TEST_F(CacheInAProcess, AWarningThatCannotBeWrittenEndsNothing) {
  const std::string own = root / "own", log = root / "log";
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(log.c_str(), "w", stderr) == nullptr) _exit(2);
    ThunkCache cache;
    const Limit no_bytes(RLIMIT_FSIZE, 0);
    cache.store(own, object("a"));
    detail::logWarning("nor can this");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_EQ(std::filesystem::file_size(log), 0u);
}

// What a compile asks first; a child whose copy of the lock somebody held would wait forever.
TEST_F(CacheInAProcess, AChildLearnsItsPlaceWhateverOtherThreadsDid) {
  constexpr int kChildren = 100, kSecondsForAChild = 20;
  const std::string before = cache_directory(), own = root / "own";
  set_cache_directory(own);
  std::atomic<bool> stop{false};
  std::thread setting([&] {
    while (!stop.load()) set_cache_directory(own);
  });
  int fine = 0;
  for (int n = 0; n < kChildren && fine == n; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSecondsForAChild);
      _exit(cache_directory() == own ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    fine += status == 0;
  }
  stop = true;
  setting.join();
  set_cache_directory(before);
  EXPECT_EQ(fine, kChildren) << "one hung";
}

}  // namespace
}  // namespace shunt::jit::test
