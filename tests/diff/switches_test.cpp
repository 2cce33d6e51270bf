// The compiler's environment variables, each in a process of its own, and the compiler's absence.
#include <shunt/jit/jit.h>
#include <shunt/version.h>

#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <sys/wait.h>

namespace diff {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// What the probe printed, on stdout and stderr, with these variables and no other switches.
std::string probe(const std::string& variables, int calls, const fs::path& libraries = {},
                  const std::string& then = "") {
  std::string command = "env -u SHUNT_JIT -u SHUNT_JIT_SYNC -u SHUNT_JIT_THRESHOLD ";
  if (!libraries.empty()) command += "LD_LIBRARY_PATH=" + libraries.string() + " ";
  command += variables + " " SWITCHES_PROBE " " + std::to_string(calls) + " " + then + " 2>&1";
  const shunt::test::CommandResult ran = shunt::test::runCommand(command);
  EXPECT_EQ(ran.status, 0) << ran.text;
  return ran.text;
}

int occurrences(const std::string& text, const std::string& of) {
  int n = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

TEST(Switches, ByDefaultHotPairsAreCompiledBesideTheCalls) {
  const std::string text = probe("", 2000);
  EXPECT_THAT(text, HasSubstr("good=1 available=1"));
  EXPECT_THAT(text, HasSubstr("late=1 compiled=6 failed=0"));
}

TEST(Switches, ColdPairsAreNotCompiled) {
  EXPECT_THAT(probe("", 100), HasSubstr("good=1 available=0 early=0 late=0 compiled=0"));
}

TEST(Switches, JitOff) {
  EXPECT_THAT(probe("SHUNT_JIT=0", 2000), HasSubstr("good=1 available=0 early=0 late=0 compiled=0"));
}

TEST(Switches, Threshold) {
  EXPECT_THAT(probe("SHUNT_JIT_THRESHOLD=64", 400), HasSubstr("late=1 compiled=6"));
  EXPECT_THAT(probe("SHUNT_JIT_THRESHOLD=100000", 2000), HasSubstr("late=0 compiled=0"));
}

TEST(Switches, SyncCompilesInTheCaller) {
  EXPECT_THAT(probe("SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1", 2), HasSubstr("good=1 available=1 early=1 late=1"));
}

TEST(Switches, BadValuesAreNamedOnceAndTheDefaultHolds) {
  const std::string text = probe("SHUNT_JIT=maybe SHUNT_JIT_THRESHOLD=-3", 2000);
  EXPECT_EQ(occurrences(text, "SHUNT_JIT=maybe"), 1);
  EXPECT_EQ(occurrences(text, "SHUNT_JIT_THRESHOLD=-3"), 1);
  EXPECT_THAT(text, HasSubstr("compiled=6"));
}

TEST(Switches, StatsPrintATableAtExit) {
  const std::string text = probe("SHUNT_STATS=1", 2000);
  EXPECT_THAT(text, HasSubstr("pairs compiled 6"));
  EXPECT_THAT(text, HasSubstr("aten::add.Tensor {CPU} (Float contiguous, Float contiguous)"));
  EXPECT_THAT(probe("", 2000), Not(HasSubstr("aten::add.Tensor")));
}

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Switches, StatsGoToAFileAsJson) {
  const shunt::test::TemporaryFolder folder("switches");
  const std::string text = probe("SHUNT_STATS=" + (folder.path() / "report-%p.json").string(), 2000);
  EXPECT_THAT(text, Not(HasSubstr("pairs compiled")));
  ASSERT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  const std::string name = fs::directory_iterator(folder.path())->path().filename().string();
  EXPECT_THAT(name, testing::MatchesRegex("report-[0-9]+\\.json"));
  const shunt::jit::Stats s = shunt::jit::statsFromJson(contentOf(folder.path() / name));
  EXPECT_TRUE(s.available);
  EXPECT_EQ(s.compiled, 6u);
  ASSERT_EQ(s.pairs.size(), 6u);
  uint64_t in_thunks = 0;
  for (const auto& p : s.pairs) in_thunks += p.in_thunks;
  EXPECT_GT(in_thunks, 0u);
  const std::string off = (folder.path() / "off.json").string();
  probe("SHUNT_JIT=0 SHUNT_STATS=" + off, 2000);
  EXPECT_FALSE(shunt::jit::statsFromJson(contentOf(off)).available) << "reported without the JIT, too";
  const std::string nowhere = probe("SHUNT_STATS=/proc/nowhere/report.json", 100);
  EXPECT_EQ(occurrences(nowhere, "SHUNT_STATS: can't write /proc/nowhere/report.json"), 1) << nowhere;
  EXPECT_THAT(nowhere, HasSubstr("good=1"));
}

TEST(Switches, AForkedChildReportsNothing) {
  EXPECT_EQ(occurrences(probe("SHUNT_STATS=1", 2000, {}, "fork"), "pairs compiled 6"), 1);
}

TEST(Switches, ThunksCountTheirCallsOnlyForStats) {
  const auto counters = [](const std::string& variables) {
    const shunt::test::TemporaryFolder folder("switches");
    probe(variables + " SHUNT_JIT_DUMP=" + folder.path().string(), 2000);
    int n = 0;
    for (const auto& f : fs::directory_iterator(folder.path()))
      if (f.path().string().ends_with(".after.ll")) n += occurrences(contentOf(f.path()), "atomicrmw add ptr @\"plan:");
    return n;
  };
  EXPECT_EQ(counters(""), 0);
  EXPECT_GE(counters("SHUNT_STATS=/dev/null"), 6) << "one for each thunk's calls, and more for misses";
}

TEST(Switches, ARunningProgramsReportIsKeptUpToDate) {
  const shunt::test::TemporaryFolder folder("switches");
  const fs::path report = folder.path() / "report.json";
  // The probe ends when its standard input does.
  FILE* program = popen(("env -u SHUNT_JIT -u SHUNT_JIT_SYNC -u SHUNT_JIT_THRESHOLD SHUNT_STATS=" + report.string() +
                         " " SWITCHES_PROBE " 2000 wait >/dev/null")
                            .c_str(),
                        "w");
  ASSERT_NE(program, nullptr);
  for (int i = 0; i < 300 && !fs::exists(report); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(fs::exists(report)) << "while the program runs";
  const shunt::jit::Stats running = shunt::jit::statsFromJson(contentOf(report));
  EXPECT_EQ(running.compiled, 6u);
  EXPECT_EQ(pclose(program), 0);
  EXPECT_EQ(shunt::jit::statsFromJson(contentOf(report)).compiled, 6u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1) << "nothing beside it";
}

TEST(Switches, LogSaysHowMuch) {
  const std::string info = probe("SHUNT_LOG=info", 2000);
  EXPECT_EQ(occurrences(info, "shunt: info: compiled aten::"), 6) << info;
  EXPECT_THAT(info, HasSubstr("compiled aten::relu {CPU} (Float contiguous): "));
  EXPECT_THAT(probe("", 2000), Not(HasSubstr("compiled aten::")));
  EXPECT_THAT(probe("SHUNT_JIT_THRESHOLD=-3 SHUNT_LOG=warning", 1),
              HasSubstr("shunt: warning: SHUNT_JIT_THRESHOLD=-3"));
  EXPECT_THAT(probe("SHUNT_JIT_THRESHOLD=-3 SHUNT_LOG=error", 1), Not(HasSubstr("SHUNT_JIT_THRESHOLD")));
  EXPECT_EQ(occurrences(probe("SHUNT_LOG=loud", 1),
                        "SHUNT_LOG=loud: expected error, warning, info or debug; using warning\n"),
            1);
}

TEST(Switches, TracePrintsEveryStep) {
  const std::string text = probe("SHUNT_TRACE=1", 1);
  EXPECT_EQ(occurrences(text, "call aten::relu keys={CPU} -> CPU [kernel]"), 2) << text;
  EXPECT_THAT(text, HasSubstr("redispatch aten::sub.Tensor keys={CPU} -> CPU [kernel]"));
  EXPECT_THAT(probe("SHUNT_TRACE=0", 1), Not(HasSubstr("aten::relu")));
  EXPECT_EQ(occurrences(probe("SHUNT_TRACE=much", 1), "SHUNT_TRACE=much: expected on, off or json; using off\n"), 1);
}

TEST(Switches, NumberOfThreads) {
  EXPECT_THAT(probe("SHUNT_NUM_THREADS=3", 1), HasSubstr("threads=3\n"));
  EXPECT_THAT(probe("SHUNT_NUM_THREADS=1", 1), HasSubstr("threads=1\n"));
  EXPECT_EQ(occurrences(probe("SHUNT_NUM_THREADS=none", 1),
                        "SHUNT_NUM_THREADS=none: expected a whole number from 1 to 4096; using "),
            1);
}

TEST(Switches, DumpWritesPlanCodeAndAssembly) {
  const shunt::test::TemporaryFolder folder("switches");
  EXPECT_THAT(probe("SHUNT_JIT_DUMP=" + (folder.path() / "dump").string(), 2000), HasSubstr("good=1 available=1"));
  std::map<std::string, int> files;
  for (const auto& f : fs::directory_iterator(folder.path() / "dump")) {
    EXPECT_GT(f.file_size(), 0u) << f.path();
    const std::string name = f.path().filename().string();
    ++files[name.substr(name.find('.', name.find("aten")))];
    if (name.ends_with("relu.s")) {
      std::ifstream in(f.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      EXPECT_THAT(text, HasSubstr("# plan for aten::relu keys={CPU}"));
      EXPECT_THAT(text, HasSubstr("ret"));
    }
  }
  EXPECT_GE(files[".plan"], 1);
  EXPECT_EQ(files[".before.ll"], files[".plan"]);
  EXPECT_EQ(files[".s"], files[".plan"]);
  const std::string text = probe("SHUNT_JIT_DUMP=/proc/nowhere/dump", 2000);
  EXPECT_EQ(occurrences(text, "SHUNT_JIT_DUMP"), 1) << text;
  EXPECT_THAT(text, HasSubstr("good=1"));
}

TEST(Switches, AtTheCodeLimitCompilingStopsAndInterpretingGoesOn) {
  const std::string text = probe("SHUNT_JIT_MAX_CODE=1500", 2000);
  EXPECT_THAT(text, HasSubstr("good=1 available=1"));
  EXPECT_THAT(text, Not(HasSubstr("failed=0"))) << text;
  EXPECT_EQ(occurrences(text, "SHUNT_JIT_MAX_CODE"), 1) << "said once: " << text;
  EXPECT_THAT(probe("SHUNT_JIT_MAX_CODE=lots", 2000), HasSubstr("SHUNT_JIT_MAX_CODE=lots"));
}

TEST(Provider, AbsentMeansInterpretingAndIsSaidOnce) {
  const shunt::test::TemporaryFolder folder("switches");
  fs::copy_file(SHUNT_LIBRARY_FILE, folder.path() / SHUNT_SONAME);
  const std::string text = probe("", 2000, folder.path());
  EXPECT_THAT(text, HasSubstr("good=1 available=0 early=0 late=0 compiled=0"));
  EXPECT_EQ(occurrences(text, "the JIT is not available"), 1) << text;
}

TEST(Provider, BrokenFileIsRefused) {
  const shunt::test::TemporaryFolder folder("switches");
  fs::copy_file(SHUNT_LIBRARY_FILE, folder.path() / SHUNT_SONAME);
  std::ofstream(folder.path() / "libshunt_jit.so." SHUNT_ABI_VERSION) << "not a library";
  const std::string text = probe("", 2000, folder.path());
  EXPECT_THAT(text, HasSubstr("good=1 available=0"));
  EXPECT_EQ(occurrences(text, "the JIT is not available"), 1) << text;
}

}  // namespace
}  // namespace diff
