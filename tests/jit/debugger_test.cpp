// What gdb and perf are told of thunks: gdb itself names one in a backtrace and finds the way through it; perf's map is
// read as perf reads it.
#include "tests/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace shunt::jit::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kName = "shunt:aten::mul.Tensor{AutogradCPU,CPU}(Float,Float)";

std::string run(const std::string& command) {
  const ::shunt::test::CommandResult ran = ::shunt::test::runCommand(
      "env -u SHUNT_JIT_GDB -u SHUNT_JIT_PERF SHUNT_JIT=1 SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1 " + command + " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.text;
  return ran.text;
}

/// A backtrace from the kernel below the thunk, what is known of the thunk then, and what after it is gone.
std::string inGdb(const std::string& variables) {
  return run(variables +
             " gdb -nx -batch -ex 'set confirm off' -ex 'set breakpoint pending on' -ex 'break probe_stop if call == 3'"
             " -ex 'break probe_stop if call < 0' -ex run -ex 'echo <stopped>\\n' -ex bt -ex 'echo <known>\\n'"
             " -ex 'info functions aten::mul.Tensor' -ex 'echo <gone>\\n' -ex continue -ex 'info functions "
             "aten::mul.Tensor' -ex 'echo <end>\\n' -ex kill --args " SHUNT_DEBUG_PROBE);
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t a = text.find(from), b = text.find(to, a);
  return a == std::string::npos || b == std::string::npos ? "" : text.substr(a, b - a);
}

TEST(Gdb, NamesAThunkAndUnwindsThroughIt) {
  const std::string text = inGdb("SHUNT_JIT_GDB=1");
  const std::string trace = between(text, "<stopped>", "<known>");
  ASSERT_THAT(trace, HasSubstr("probe_stop")) << "gdb could not run the program (is ptrace allowed?):\n" << text;
  const size_t kernel = trace.find("product"), thunk = trace.find(kName), main = trace.find(" main ");
  EXPECT_NE(thunk, std::string::npos) << text;
  EXPECT_LT(kernel, thunk) << text;
  EXPECT_LT(thunk, main) << text;
  EXPECT_NE(main, std::string::npos) << text;
  EXPECT_THAT(trace, Not(HasSubstr("corrupt stack")));
  EXPECT_THAT(between(text, "<known>", "<gone>"), HasSubstr(kName));
  EXPECT_THAT(between(text, "<gone>", "<end>"),
              AllOf(HasSubstr("in thunks"), Not(HasSubstr("in thunks 0")), HasSubstr("All functions")));
  EXPECT_THAT(between(text, "<gone>", "<end>"), Not(HasSubstr(kName))) << "taken back with the thunk";
}

TEST(Gdb, IsToldNothingWithoutTheSwitch) {
  const std::string text = inGdb("");
  EXPECT_THAT(between(text, "<stopped>", "<gone>"), AllOf(HasSubstr("probe_stop"), Not(HasSubstr("shunt:aten"))));
}

TEST(Perf, MapHasTheThunk) {
  const std::string text = run("SHUNT_JIT_PERF=1 " SHUNT_DEBUG_PROBE);
  int process = 0;
  size_t code = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "process %d thunk %zx", &process, &code), 2) << text;
  const std::string path = "/tmp/perf-" + std::to_string(process) + ".map";
  std::ifstream map(path);
  ASSERT_TRUE(map.good()) << path;
  bool found = false;
  for (std::string line; std::getline(map, line);) {
    std::istringstream in(line);
    size_t begin = 0, size = 0;
    std::string name, rest;
    in >> std::hex >> begin >> size >> name;
    ASSERT_TRUE(in) << line;
    EXPECT_FALSE(in >> rest) << line;
    if (begin > code || code >= begin + size) continue;
    EXPECT_EQ(name, kName);
    EXPECT_EQ(begin, code);
    found = true;
  }
  EXPECT_TRUE(found) << text;
  std::filesystem::remove(path);
  // perf looks into the map only where it sees no file: shared memory without one has this name.
  EXPECT_THAT(text, testing::ContainsRegex("mapping [0-9a-f-]+ r-xs [^\n]* /dev/zero \\(deleted\\)"));
}

TEST(Perf, NoMapWithoutTheSwitch) {
  const std::string text = run(SHUNT_DEBUG_PROBE);
  int process = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "process %d", &process), 1) << text;
  EXPECT_FALSE(std::filesystem::exists("/tmp/perf-" + std::to_string(process) + ".map"));
}

TEST(Perf, BadValueIsSaidOnce) {
  const std::string text = run("SHUNT_JIT_PERF=maybe " SHUNT_DEBUG_PROBE);
  EXPECT_THAT(text, HasSubstr("SHUNT_JIT_PERF=maybe: expected on or off; using off\n"));
}

}  // namespace
}  // namespace shunt::jit::test
