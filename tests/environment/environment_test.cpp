// The table of environment variables: spellings, bounds, defaults, and the messages about bad values and unknown names.
#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

namespace shunt::detail::environment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Form = Value::Form;

/// What is logged at warning level while it lives. One at a time.
class Warnings {
 public:
  Warnings() {
    said().clear();
    set_log_sink([](LogLevel level, const char* message) {
      if (level == LogLevel::kWarning) said().emplace_back(message);
    });
  }
  ~Warnings() { set_log_sink(nullptr); }
  static std::vector<std::string>& said() {
    static std::vector<std::string> all;
    return all;
  }
};

/// A variable's value for the time of a test.
class Set {
 public:
  Set(Variable variable, const char* value) : name_(rowOf(variable).name) {
    if (const char* before = std::getenv(name_)) before_ = before;
    setenv(name_, value, 1);
  }
  ~Set() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

std::string complaintAbout(Variable variable, const char* value, const std::string& otherwise = "") {
  const Set set(variable, value);
  std::string complaint;
  EXPECT_FALSE(read(variable, complaint, otherwise).is_set);
  return complaint;
}

TEST(Table, NamesAreDifferentAndFallbacksAreAllowed) {
  std::set<std::string> names;
  for (const ScriptRow& row : kScriptTable) {
    EXPECT_TRUE(std::string(row.name).starts_with("SHUNT_"));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  for (const Row& row : kTable) {
    EXPECT_TRUE(std::string(row.name).starts_with("SHUNT_"));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(std::string(row.description).ends_with(".")) << row.name;
    EXPECT_NE(*row.fallback == 0, *row.instead == 0) << row.name << ": either is the default";
    if (*row.fallback == 0) continue;
    ASSERT_TRUE(parse(row, row.fallback)) << row.name;
    EXPECT_EQ(parse(row, row.fallback)->text, row.fallback) << "as people are shown it";
  }
}

TEST(Flags, TakeEverySpellingWhereverThereIsOne) {
  int flags = 0;
  for (const Row& row : kTable) {
    if (!row.is_flag) continue;
    ++flags;
    for (const char* on : {"1", "on", "true", "yes", "On", "TRUE", "yEs"}) {
      ASSERT_TRUE(parse(row, on)) << row.name << "=" << on;
      EXPECT_TRUE(parse(row, on)->isFlag(true)) << row.name << "=" << on;
    }
    for (const char* off : {"0", "off", "false", "no", "Off", "FALSE", "nO"}) {
      ASSERT_TRUE(parse(row, off)) << row.name << "=" << off;
      EXPECT_TRUE(parse(row, off)->isFlag(false)) << row.name << "=" << off;
    }
    if (row.path != Path::kFile) EXPECT_FALSE(parse(row, "2")) << row.name;
    EXPECT_FALSE(parse(row, "")) << row.name;
  }
  EXPECT_GE(flags, 11);
}

TEST(Words, AreTheTablesInAnyCase) {
  EXPECT_TRUE(parse(rowOf(Variable::kLog), "DEBUG")->isWord("debug"));
  EXPECT_TRUE(parse(rowOf(Variable::kTrace), "Json")->isWord("json"));
  EXPECT_TRUE(parse(rowOf(Variable::kJitTier), "1")->isWord("1")) << "a tier, no flag";
  EXPECT_FALSE(parse(rowOf(Variable::kJitTier), "on"));
  EXPECT_FALSE(parse(rowOf(Variable::kLog), "auto"));
}

TEST(Numbers, AreWholeAndWithinBounds) {
  const Row& budget = rowOf(Variable::kJitBudget);
  EXPECT_EQ(parse(budget, "0")->number, 0);
  EXPECT_EQ(parse(budget, "100")->number, 100);
  for (const char* bad : {"-1", "101", "2.5", "1 ", "+1", "0x1", "many", ""}) EXPECT_FALSE(parse(budget, bad)) << bad;
  EXPECT_EQ(parse(rowOf(Variable::kJitMaxCode), "9223372036854775807")->number, INT64_MAX);
  EXPECT_FALSE(parse(rowOf(Variable::kJitMaxCode), "9223372036854775808"));
  EXPECT_EQ(parse(rowOf(Variable::kCompileRecordAfter), "7")->number, 7);
}

TEST(Paths, AreWhatElseThereIs) {
  EXPECT_EQ(parse(rowOf(Variable::kStats), "report.json")->form, Form::kPath);
  EXPECT_EQ(parse(rowOf(Variable::kJitCache), "/a/b")->text, "/a/b");
  EXPECT_FALSE(parse(rowOf(Variable::kJitCache), "a/b"));
  EXPECT_FALSE(parse(rowOf(Variable::kJit), "/a/b"));
}

TEST(Expected, SaysWhatTheRowAllows) {
  EXPECT_EQ(expected(rowOf(Variable::kJit)), "on or off");
  EXPECT_EQ(expected(rowOf(Variable::kTrace)), "on, off or json");
  EXPECT_EQ(expected(rowOf(Variable::kStats)), "on, off or a file name");
  EXPECT_EQ(expected(rowOf(Variable::kJitCache)), "on, off or an absolute path");
  EXPECT_EQ(expected(rowOf(Variable::kJitDump)), "a directory");
  EXPECT_EQ(expected(rowOf(Variable::kJitBudget)), "a whole number from 0 to 100");
  EXPECT_EQ(expected(rowOf(Variable::kCompileRecordAfter)), "auto or a whole number from 1 on");
  EXPECT_EQ(expected(rowOf(Variable::kJitTier)), "auto, 1, 2 or both");
}

TEST(BadValues, AreNamedWithWhatIsExpectedAndWhatHolds) {
  EXPECT_EQ(complaintAbout(Variable::kJit, "of"),
            "SHUNT_JIT=of: expected on or off; using on; did you mean 'on' or 'off'?");
  EXPECT_EQ(complaintAbout(Variable::kTrace, "jsno"),
            "SHUNT_TRACE=jsno: expected on, off or json; using off; did you mean 'json'?");
  EXPECT_EQ(complaintAbout(Variable::kJitThreshold, "-3"),
            "SHUNT_JIT_THRESHOLD=-3: expected a whole number from 1 to 1073741824; using 512");
  EXPECT_EQ(complaintAbout(Variable::kJitTier, "bot"),
            "SHUNT_JIT_TIER=bot: expected auto, 1, 2 or both; using auto; did you mean 'both'?");
  EXPECT_EQ(complaintAbout(Variable::kIsa, "v5", "v3"),
            "SHUNT_ISA=v5: expected baseline, v3 or v4; using v3; did you mean 'v3' or 'v4'?");
  EXPECT_EQ(complaintAbout(Variable::kNumThreads, "0"),
            "SHUNT_NUM_THREADS=0: expected a whole number from 1 to 4096; using one per hardware thread");
}

TEST(BadValues, LeaveTheDefaultAndWarnOnce) {
  const Warnings warnings;
  {
    const Set set(Variable::kCompileRecordAfter, "never");
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(read(Variable::kCompileRecordAfter).isWord("auto"));
  }
  EXPECT_THAT(Warnings::said(),
              ElementsAre("SHUNT_COMPILE_RECORD_AFTER=never: expected auto or a whole number from 1 on; using auto"));
}

TEST(Values, OfTheEnvironmentHold) {
  const Set set(Variable::kJitKeep, "Yes"), threshold(Variable::kJitThreshold, "77"), empty(Variable::kTrace, "");
  EXPECT_TRUE(flag<Variable::kJitKeep>());
  EXPECT_EQ(environment::number<Variable::kJitThreshold>(), 77);
  EXPECT_TRUE(read(Variable::kJitThreshold).is_set);
  EXPECT_FALSE(read(Variable::kTrace).is_set) << "empty is unset";
  EXPECT_EQ(textOf(Variable::kTrace), nullptr);
}

TEST(Directories, AreMade) {
  const test::TemporaryFolder folder("environment");
  const std::string made = folder.path() / "a/b";
  const Warnings warnings;
  {
    const Set set(Variable::kJitDump, made.c_str());
    EXPECT_EQ(directory<Variable::kJitDump>(), made);
    EXPECT_TRUE(std::filesystem::is_directory(made));
  }
  EXPECT_THAT(Warnings::said(), IsEmpty());
  const Set set(Variable::kJitDump, "/proc/nowhere/dump");
  EXPECT_EQ(directory<Variable::kJitDump>(), "");
  EXPECT_THAT(Warnings::said(), ElementsAre("SHUNT_JIT_DUMP=/proc/nowhere/dump: No such file or directory; nothing is "
                                            "written there"));
}

TEST(UnknownNames, AreReportedWithNearOnes) {
  const char* variables[] = {"HOME=/root",           "SHUNT_JIT_THRESOLD=3", "SHUNT_JIT=1",         "SHUNT_TEST_SEED=1",
                             "SHUNT_SOMETHING_ELSE", "XSHUNT_JIT=1",         "SHUNT_COMPILE_CHEK=", nullptr};
  EXPECT_THAT(complaintsAboutNames(variables),
              ElementsAre("SHUNT_JIT_THRESOLD in the environment: Shunt reads no variable of that name; did you mean "
                          "'SHUNT_JIT_THRESHOLD'?",
                          "SHUNT_SOMETHING_ELSE in the environment: Shunt reads no variable of that name",
                          "SHUNT_COMPILE_CHEK in the environment: Shunt reads no variable of that name; did you mean "
                          "'SHUNT_COMPILE_CHECK'?"));
}

}  // namespace
}  // namespace shunt::detail::environment
