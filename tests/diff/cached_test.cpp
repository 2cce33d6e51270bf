// Every case of diff_test with thunks of the disk cache: the first process compiles them, the second loads each one, and
// compares it with the interpreter bit for bit as ever.
#include <shunt/jit/jit.h>

#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace diff {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "shunt_cached_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

shunt::jit::Stats run(const Folder& folder, const std::string& cache = "cache") {
  const fs::path report = folder.path / "report.json";
  const std::string variables = "SHUNT_JIT_CACHE=" + (folder.path / cache).string() + " SHUNT_STATS=" + report.string();
  const auto ran = shunt::test::runCommand("env -u SHUNT_JIT " + variables + " " DIFF_TEST " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.text;
  return shunt::jit::statsFromJson(contentOf(report));
}

TEST(Cached, EveryThunkOfTheDifferentialTestIsLoadedByTheNextProcess) {
  const Folder folder;
  const shunt::jit::Stats first = run(folder);
  EXPECT_GT(first.compiled, 1000u);
  EXPECT_EQ(first.cache_rejected, 0u);
  const shunt::jit::Stats second = run(folder);
  EXPECT_EQ(second.compiled, 0u);
  EXPECT_EQ(second.loaded, first.compiled + first.loaded);
  EXPECT_EQ(second.refused, first.refused);
  EXPECT_EQ(second.cache_rejected, 0u);
}

// What an object holds of a process, an address first of all, is another one in the next.
TEST(Cached, TwoProcessesCompileTheSameBytes) {
  const Folder folder;
  run(folder, "first");
  run(folder, "second");
  size_t files = 0;
  for (const auto& file : fs::directory_iterator(folder.path / "first")) {
    ++files;
    EXPECT_TRUE(contentOf(file.path()) == contentOf(folder.path / "second" / file.path().filename())) << file.path();
  }
  EXPECT_GT(files, 1000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path / "second"), fs::directory_iterator()), static_cast<long>(files));
}

}  // namespace
}  // namespace diff
