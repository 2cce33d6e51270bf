// stackTrace(): names of exported, static and local functions, and source lines where a tool is installed. Built with
// debug information.
#include "src/base/source_places.h"

#include <shunt/core/stack_trace.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

namespace shunt::test {

SHUNT_NOINLINE std::vector<StackFrame> ofAnExportedFunction(bool lines) {
  std::vector<StackFrame> frames = stackFrames(64, lines);
  frames.shrink_to_fit();  // no tail call
  return frames;
}

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

struct Caller {
  SHUNT_NOINLINE std::vector<StackFrame> operator()(bool lines) const {
    std::vector<StackFrame> frames = ofAnExportedFunction(lines);
    frames.shrink_to_fit();
    return frames;
  }
};

SHUNT_NOINLINE std::vector<StackFrame> ofAStaticFunction(bool lines) {
  std::vector<StackFrame> frames = Caller()(lines);
  frames.shrink_to_fit();
  return frames;
}

std::string inHex(uint64_t number) {
  std::ostringstream out;
  out << std::hex << number;
  return out.str();
}

bool isInstalled(const char* tool) {
  std::istringstream path(std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/" + tool)) return true;
  return false;
}

/// The variable PATH, for as long as it lives.
class Path {
 public:
  explicit Path(const char* value) : before_(std::getenv("PATH")) { setenv("PATH", value, 1); }
  ~Path() { setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  const std::string before_;
};

/// A file descriptor that is closed for as long as it lives.
class Closed {
 public:
  explicit Closed(int file) : file_(file), kept_(dup(file)) { close(file); }
  ~Closed() {
    dup2(kept_, file_);
    close(kept_);
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  const int file_, kept_;
};

TEST(StackTrace, NamesOfFunctionsWithoutATool) {
  const std::vector<StackFrame> frames = ofAStaticFunction(false);
  ASSERT_GE(frames.size(), 4u);
  EXPECT_EQ(frames[0].function, "shunt::test::ofAnExportedFunction(bool)");
  EXPECT_EQ(frames[1].function, "shunt::test::(anonymous namespace)::Caller::operator()(bool) const");
  EXPECT_EQ(frames[2].function, "shunt::test::(anonymous namespace)::ofAStaticFunction(bool)");
  EXPECT_THAT(frames[3].function, HasSubstr("StackTrace_NamesOfFunctionsWithoutATool_Test::TestBody()"));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(frames[i].object, EndsWith("/stack_trace_test"));
    EXPECT_EQ(frames[i].line, 0);
    EXPECT_EQ(frames[i].str(), frames[i].function + " in " + frames[i].object + "+0x" + inHex(frames[i].address));
  }
}

TEST(StackTrace, LinesWhereAToolIsInstalled) {
  if (!isInstalled("llvm-symbolizer") && !isInstalled("addr2line")) {
    EXPECT_EQ(ofAStaticFunction(true)[0].line, 0);
    return;
  }
  const int above = __LINE__;
  const std::vector<StackFrame> frames = ofAStaticFunction(true);
  ASSERT_GE(frames.size(), 4u);
  EXPECT_EQ(frames[0].function, "shunt::test::ofAnExportedFunction(bool)");
  EXPECT_THAT(frames[0].file, EndsWith("stack_trace_test.cpp"));
  EXPECT_GT(frames[0].line, 15);
  EXPECT_LT(frames[0].line, 30);
  EXPECT_THAT(frames[3].function, HasSubstr("LinesWhereAToolIsInstalled_Test::TestBody()"));
  EXPECT_EQ(frames[3].line, above + 1);
  EXPECT_THAT(frames[3].str(), EndsWith(detail::str("/stack_trace_test.cpp:", above + 1)));
}

TEST(StackTrace, LinesWhileStdinAndStderrAreClosed) {
  std::vector<StackFrame> frames;
  {
    const Closed in(STDIN_FILENO), error(STDERR_FILENO);
    frames = ofAStaticFunction(true);
  }
  EXPECT_EQ(frames.at(0).line > 0, isInstalled("llvm-symbolizer") || isInstalled("addr2line"));
}

TEST(StackTrace, WithoutToolsOnPath) {
  const Path nothing("/nonexistent");
  const std::vector<StackFrame> frames = ofAStaticFunction(true);
  ASSERT_GE(frames.size(), 4u);
  EXPECT_EQ(frames[2].function, "shunt::test::(anonymous namespace)::ofAStaticFunction(bool)");
  EXPECT_EQ(frames[2].line, 0);
}

TEST(StackTrace, AToolThatFails) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / detail::str("shunt_tools_", getpid());
  std::filesystem::create_directory(folder);
  for (const char* tool : {"llvm-symbolizer", "addr2line"})
    std::filesystem::create_symlink("/bin/false", folder / tool);
  {
    const Path failing(folder.c_str());
    EXPECT_EQ(ofAStaticFunction(true)[2].function, "shunt::test::(anonymous namespace)::ofAStaticFunction(bool)");
  }
  std::filesystem::remove_all(folder);
}

TEST(StackTrace, NoMoreThanAreAskedFor) {
  EXPECT_EQ(stackFrames(2, false).size(), 2u);
  EXPECT_EQ(stackFrames(0, false).size(), 0u);
  const std::string text = stackTrace(2, false);
  EXPECT_TRUE(std::regex_match(text, std::regex("  #0 .*TestBody\\(\\) in .*\n  #1 .* in .*\n"))) << text;
}

TEST(StackTrace, AtAnOperatorUnderAMode) {
  struct Mode : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      trace = stackTrace(64, false);
      op.callBoxed(stack);
    }
    std::string trace;
  } mode;
  const Tensor x = ones({2});
  {
    const DispatchModeGuard guard(mode);
    x.relu();
  }
  EXPECT_THAT(mode.trace, AllOf(HasSubstr("::Mode::handle("), HasSubstr("AtAnOperatorUnderAMode_Test::TestBody() in "),
                                HasSubstr("libshunt.so"), HasSubstr(" main in ")));
}

TEST(StackTrace, WhatToolsPrint) {
  const auto symbolizer = detail::readSymbolizer(
      "inner(int)\n/a b/c.cpp:12:34\nouter(int)\n/a b/c.cpp:20:3\n\n??\n??:0:0\n\nmain\n/d (1)/e.cpp:7:0\n\n");
  ASSERT_EQ(symbolizer.size(), 3u);
  ASSERT_EQ(symbolizer[0].size(), 2u);
  EXPECT_EQ(symbolizer[0][0].function, "inner(int)");
  EXPECT_EQ(symbolizer[0][0].file, "/a b/c.cpp");
  EXPECT_EQ(symbolizer[0][0].line, 12);
  EXPECT_EQ(symbolizer[0][1].function, "outer(int)");
  EXPECT_EQ(symbolizer[0][1].line, 20);
  EXPECT_EQ(symbolizer[1][0].function + symbolizer[1][0].file, "");
  EXPECT_EQ(symbolizer[2][0].file, "/d (1)/e.cpp");
  EXPECT_EQ(symbolizer[2][0].line, 7);
  const auto addr2line = detail::readAddr2line(
      "0x0000000000001160\nf(int)\n/a/t.cpp:3 (discriminator "
      "2)\ng(int)\n/a/t.cpp:9\n0x10\n??\n??:0\n0x11\nh\n/a/t.cpp:?\n");
  ASSERT_EQ(addr2line.size(), 3u);
  EXPECT_EQ(addr2line[0][0].function, "f(int)");
  EXPECT_EQ(addr2line[0][0].file, "/a/t.cpp");
  EXPECT_EQ(addr2line[0][0].line, 3);
  EXPECT_EQ(addr2line[0][1].line, 9);
  EXPECT_EQ(addr2line[1][0].function + addr2line[1][0].file, "");
  EXPECT_EQ(addr2line[2][0].function + addr2line[2][0].file, "h");
  EXPECT_TRUE(detail::readSymbolizer("").empty());
  EXPECT_TRUE(detail::readAddr2line("").empty());
}

}  // namespace
}  // namespace shunt::test
