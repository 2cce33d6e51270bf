// Thunks of diff_test's cases in the disk cache: the first process compiles them, the second loads each one and
// compares it with the interpreter bit for bit, and a third compiles the same bytes once more. All three draw the same
// cells: another selection each day, all under SHUNT_TEST_LONG=1 (tests/support/seed.h).
#include <shunt/jit/jit.h>

#include "tests/support/run_command.h"
#include "tests/support/seed.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace diff {
namespace {

namespace fs = std::filesystem;

const size_t kCells = shunt::test::longRun() ? 0 : 100;     // 0: all
const size_t kThunks = shunt::test::longRun() ? 1000 : 60;  // that so many cells give at least

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

std::ptrdiff_t filesIn(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

shunt::jit::Stats run(const Folder& folder, const std::string& cache) {
  const fs::path report = folder.path / "report.json";
  const std::string variables =
      "SHUNT_JIT_CACHE=" + (folder.path / cache).string() + " SHUNT_JIT_KEEP=1 SHUNT_STATS=" + report.string();
  const std::string flags =
      " --seed " + std::to_string(shunt::test::drawnSeed()) + " --cells " + std::to_string(kCells);
  const auto ran = shunt::test::runCommand("env -u SHUNT_JIT " + variables + " " DIFF_TEST + flags + " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.text;
  return shunt::jit::statsFromJson(contentOf(report));
}

TEST(Cached, ThunksAreLoadedByTheNextProcessAndCompiledToTheSameBytes) {
  const Folder folder;
  std::cout << "seed " << shunt::test::drawnSeed() << std::endl;
  const shunt::jit::Stats first = run(folder, "first");
  EXPECT_GT(first.compiled, kThunks);
  EXPECT_EQ(first.cache_rejected, 0u);
  const shunt::jit::Stats second = run(folder, "first");
  EXPECT_EQ(second.compiled, 0u);
  EXPECT_EQ(second.loaded, first.compiled + first.loaded);
  EXPECT_EQ(second.refused, first.refused);
  EXPECT_TRUE(std::ranges::any_of(second.pairs, [](const auto& p) { return p.kinds > 1 && p.loads > 1; }))
      << "a thunk for several kinds of operands has a file of its own";
  EXPECT_EQ(second.cache_rejected, 0u);

  // What an object holds of a process, an address first of all, is another one in the next.
  run(folder, "second");
  for (const auto& file : fs::directory_iterator(folder.path / "first"))
    EXPECT_TRUE(contentOf(file.path()) == contentOf(folder.path / "second" / file.path().filename())) << file.path();
  EXPECT_GT(filesIn(folder.path / "first"), static_cast<std::ptrdiff_t>(kThunks));
  EXPECT_EQ(filesIn(folder.path / "first"), filesIn(folder.path / "second"));
}

}  // namespace
}  // namespace diff
