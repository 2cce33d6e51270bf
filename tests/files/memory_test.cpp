// Files that ask for more memory than there is are errors with the path, as damaged ones are.
#include "tests/files/samples.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace shunt {
namespace {

using namespace test;

// Sanitizers reserve terabytes of addresses, and end the program where an allocation fails.
#if !defined(__has_feature) || !(__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr int64_t kBytes = int64_t{64} << 20;

/// Ends the process: with 0 where `read` throws an Error, whose text is printed, once only a quarter of kBytes can be
/// allocated.
[[noreturn]] void readWithoutMemory(const std::function<void()>& read) {
  long pages = 0;
  std::FILE* const statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr || std::fscanf(statm, "%ld", &pages) != 1) _exit(3);
  std::fclose(statm);
  const rlim_t most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kBytes / 4);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(4);
  try {
    read();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    _exit(0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "no shunt::Error: %s\n", e.what());
    _exit(2);
  }
  _exit(1);
}

TEST(MemoryDeathTest, ElementsThatDontFitAreAnErrorWithThePath) {
  const FileFolder folder;
  const Tensor large = zeros({kBytes}, kByte);
  save_npy(large, folder.path("x.npy"));
  save({{"w", large}}, folder.path("x.npz"));
  save({{"w", large}}, folder.path("x.safetensors"));
  EXPECT_EXIT(readWithoutMemory([&] { load_npy(folder.path("x.npy")); }), testing::ExitedWithCode(0),
              "^load_npy: '.*x\\.npy': ");
  EXPECT_EXIT(readWithoutMemory([&] { load(folder.path("x.npz")); }), testing::ExitedWithCode(0),
              "^load: '.*x\\.npz': ");
  EXPECT_EXIT(readWithoutMemory([&] { load(folder.path("x.safetensors")); }), testing::ExitedWithCode(0),
              "^load: '.*x\\.safetensors': ");
}

TEST(MemoryDeathTest, AHeaderThatDoesntFitIsAnErrorWithThePath) {
  const FileFolder folder;
  const std::string path = folder.path("x.safetensors");
  save({}, path, {{"k", std::string(kBytes, 'v')}});
  EXPECT_EXIT(readWithoutMemory([&] { load(path); }), testing::ExitedWithCode(0),
              "^load: '.*x\\.safetensors': there isn't enough memory");
  EXPECT_EXIT(readWithoutMemory([&] { load_metadata(path); }), testing::ExitedWithCode(0),
              "^load_metadata: '.*x\\.safetensors': there isn't enough memory");
}

#endif
#endif

}  // namespace
}  // namespace shunt
