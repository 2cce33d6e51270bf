// That the sanitizers see into compiled code: a program that races, or reads beyond its memory, in a thunk must be
// reported, with the thunk as the innermost frame. Without this the other tests' silence would mean nothing.
#include "tests/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

CommandResult probe(const std::string& what) {
  return runCommand("SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1 " SANITIZER_PROBE " " + what + " 2>&1");
}

// "#0 <null> <null> (memfd:shunt-jit (deleted)+0xc04)": no symbols, but the slab's name.
constexpr const char* kInThunk = "#0 [^\n]*shunt-jit";

TEST(Sanitizer, IsSilentWhereNothingIsWrong) {
  const CommandResult r = probe("none");
  EXPECT_EQ(r.status, 0) << r.text;
  EXPECT_THAT(r.text, HasSubstr("nothing was seen"));
}

#ifdef __SANITIZE_THREAD__
TEST(Sanitizer, SeesARaceInAThunk) {
  const CommandResult r = probe("race");
  EXPECT_EQ(r.status, 66) << r.text;
  EXPECT_THAT(r.text, HasSubstr("data race"));
  EXPECT_THAT(r.text, ContainsRegex(kInThunk));
}
#else
TEST(Sanitizer, SeesAnOverrunInAThunk) {
  const CommandResult r = probe("overrun");
  EXPECT_NE(r.status, 0);
  EXPECT_THAT(r.text, HasSubstr("heap-buffer-overflow"));
  EXPECT_THAT(r.text, ContainsRegex(kInThunk));
}
#endif

}  // namespace
}  // namespace shunt::test
