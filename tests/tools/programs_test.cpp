// shunt run and profile: a program with settings, and what its operators took. shunt bench: what a call costs.
#include "tests/support/temporary_folder.h"
#include "tests/tools/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace shunt {
namespace {

using nlohmann::json;
using test::bad;
using test::good;
using testing::HasSubstr;

const std::string kProgram = PROFILED_PROGRAM;

/// For what prints the variables that are set: those that a run of the tests may set.
const std::string kBare = "-u SHUNT_ISA -u SHUNT_NUM_THREADS";

TEST(RunCommand, GivesTheProgramItsSettingsAndArguments) {
  EXPECT_EQ(good("run " + kProgram, kBare), "");
  EXPECT_EQ(good("run --no-jit --no-compile --threads 3 --log error --cache off --isa baseline " + kProgram +
                     " 0 --stats -- x",
                 kBare),
            "SHUNT_JIT=0\nSHUNT_COMPILE=0\nSHUNT_NUM_THREADS=3\nSHUNT_LOG=error\nSHUNT_JIT_CACHE=off\n"
            "SHUNT_ISA=baseline\nargument 0\nargument --stats\nargument --\nargument x\n");
  EXPECT_EQ(good("run --stats " + kProgram + " 0", kBare), "SHUNT_STATS=1\nargument 0\n");
  EXPECT_EQ(good("run --no-jit --cache thunks " + kProgram, kBare),
            "SHUNT_JIT=0\nSHUNT_JIT_CACHE=" + (std::filesystem::current_path() / "thunks\n").string());
}

TEST(RunCommand, PrintsAndLeavesStatisticsAndTraces) {
  EXPECT_THAT(test::runCli("run --stats " + kProgram, "", " 2>&1 >/dev/null").text, HasSubstr("pairs compiled "));
  const test::TemporaryFolder folder("run_command");
  const std::string report = folder.path() / "report.json";
  good("run --report " + report + " " + kProgram);
  EXPECT_THAT(good("stats " + report), HasSubstr("pairs compiled "));
  EXPECT_THAT(test::runCli("run --trace " + kProgram, "", " 2>&1 >/dev/null").text,
              HasSubstr("call profiled::twice_exp keys={CPU} -> CPU [kernel]\n"));
  EXPECT_THAT(test::runCli("run --trace-json " + kProgram, "", " 2>&1 >/dev/null").text,
              HasSubstr("{\"kind\":\"call\",\"op\":\"profiled::twice_exp\",\"keys\":[\"CPU\"]"));
}

TEST(RunCommand, ExitsAsTheProgramDoes) {
  EXPECT_EQ(test::runCli("run " + kProgram + " 7", "", "").status, 7);
  EXPECT_EQ(test::runCli("profile " + kProgram + " 7", "", " 2>/dev/null").status, 7);
  const test::CommandResult missing = test::runCli("run ./nowhere 1", "", " 2>&1");
  EXPECT_EQ(missing.text, "shunt: can't run ./nowhere: No such file or directory\n");
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(test::runCli("run /", "", " 2>&1").status, 126);
  EXPECT_EQ(test::wrong("run --no-jti " + kProgram),
            test::withHelp("unknown option '--no-jti' of 'shunt run'; did you mean '--no-jit'?", "shunt run"));
  EXPECT_EQ(test::wrong("profile --trcae x.json " + kProgram),
            test::withHelp("unknown option '--trcae' of 'shunt profile'; did you mean '--trace'?", "shunt profile"));
  const test::TemporaryFolder folder("run_here");
  std::ofstream(folder.path() / "not_in_path") << "";
  EXPECT_EQ(test::runCommand("cd " + folder.path().string() + " && " SHUNT_CLI " run not_in_path 2>&1").text,
            "shunt: can't run not_in_path: No such file or directory; the one in this directory is ./not_in_path\n");
}

// A rename would put a file in the place of /dev/null, for every program of the machine.
TEST(RunCommand, ReportsReplaceOnlyFiles) {
  const test::TemporaryFolder folder("report_places");
  const std::string pipe = folder.path() / "pipe", link = folder.path() / "link", file = folder.path() / "file";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(file, link);
  const auto report = [](const std::string& place, const std::string& before, const std::string& after) {
    return test::runCommand(before + SHUNT_CLI " run --report " + place + " " + kProgram + " >/dev/null" + after).text;
  };
  EXPECT_THAT(report(pipe, "cat " + pipe + " & ", "; wait"), HasSubstr("\"version\""));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  report(link, "", "");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(good("stats " + file), HasSubstr("pairs compiled "));
}

struct Row {
  int64_t calls = 0;
  double total = 0, self = 0, share = 0, mean = 0;
};

/// The rows of the table, in its order.
std::vector<std::pair<std::string, Row>> rowsOf(const std::string& text) {
  std::vector<std::pair<std::string, Row>> rows;
  std::istringstream lines(text);
  bool below_head = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, percent;
    Row r;
    if (below_head && words >> name >> r.calls >> r.total >> r.self >> r.share >> percent >> r.mean)
      rows.emplace_back(name, r);
    below_head |= line.starts_with("operator ");
  }
  return rows;
}

std::map<std::string, int64_t> callsOf(const std::vector<std::pair<std::string, Row>>& rows) {
  std::map<std::string, int64_t> calls;
  for (const auto& [name, row] : rows) calls[name] = row.calls;
  return calls;
}

TEST(ProfileCommand, CountsAndTimesEachOperatorOnAllThreads) {
  const std::string text = test::runCli("profile " + kProgram, "", " 2>&1 >/dev/null").text;
  EXPECT_THAT(text, HasSubstr(" operators on 2 threads, all of them interpreted\n"));
  const auto rows = rowsOf(text);
  const auto calls = callsOf(rows);
  ASSERT_TRUE(calls.contains("profiled::twice_exp")) << text;
  EXPECT_EQ(calls.at("profiled::twice_exp"), 6) << "4 unboxed, 2 boxed\n" << text;
  EXPECT_EQ(calls.at("aten::exp"), 12);
  EXPECT_EQ(calls.at("aten::add.Tensor"), 6);
  EXPECT_EQ(calls.at("aten::neg"), 1000) << "none is compiled, which would hide it";
  EXPECT_EQ(calls.at("aten::sigmoid"), 5) << "compiled functions run operator by operator";
  EXPECT_EQ(calls.at("aten::cos"), 5);
  EXPECT_EQ(calls.at("aten::sin"), 7) << "of the other thread";
  double share = 0, before = 1e300;
  std::map<std::string, Row> by_name;
  for (const auto& [name, row] : rows) {
    EXPECT_LE(row.self, row.total) << name;
    EXPECT_NEAR(row.mean, 1000 * row.self / static_cast<double>(row.calls), 0.6) << name;
    EXPECT_LE(row.self, before) << "the largest self time first";
    before = row.self;
    share += row.share;
    by_name[name] = row;
  }
  EXPECT_NEAR(share, 100, 0.1 * static_cast<double>(rows.size()));
  const Row& outer = by_name["profiled::twice_exp"];
  EXPECT_NEAR(outer.total, outer.self + by_name["aten::exp"].total + by_name["aten::add.Tensor"].total, 0.003);
}

TEST(ProfileCommand, WritesATraceOfEachCall) {
  const test::TemporaryFolder folder("profile_command");
  const std::string file = folder.path() / "calls.json";
  const std::string text = test::runCli("profile --trace " + file + " " + kProgram, "", " 2>&1 >/dev/null").text;
  std::ifstream in(file);
  const json trace = json::parse(in);
  std::map<std::string, int64_t> calls;
  std::set<int64_t> threads;
  std::vector<json> outer, inner;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    ++calls[e["name"]];
    threads.insert(e["tid"].get<int64_t>());
    EXPECT_EQ(e["args"]["keys"].get<std::string>().empty(), false);
    if (e["name"] == "profiled::twice_exp") outer.push_back(e);
    if (e["name"] == "aten::exp") inner.push_back(e);
  }
  EXPECT_EQ(calls, callsOf(rowsOf(text)));
  EXPECT_EQ(threads.size(), 2u);
  for (const json& e : inner) {
    const double start = e["ts"], end = start + e["dur"].get<double>();
    EXPECT_TRUE(std::any_of(outer.begin(), outer.end(), [&](const json& o) {
      return o["tid"] == e["tid"] && o["ts"] <= start && end <= o["ts"].get<double>() + o["dur"].get<double>() + 0.002;
    })) << e;
  }
}

TEST(ProfileCommand, WhatIsWrongIsSaid) {
  EXPECT_EQ(test::runCli("ops mm", "SHUNT_PROFILE=0", " 2>&1 >/dev/null").text, "");
  EXPECT_THAT(test::runCli("ops mm", "SHUNT_PROFILE=/nowhere/calls.json", " 2>&1 >/dev/null").text,
              HasSubstr("shunt: warning: SHUNT_PROFILE: can't write /nowhere/calls.json\n"));
}

TEST(ProfileCommand, ALimitOfFileSizesEndsNoProgram) {
  const test::TemporaryFolder folder("profile_limit");
  const std::string file = folder.path() / "calls.json";
  EXPECT_THAT(test::runCommand("ulimit -f 0; SHUNT_PROFILE=" + file + " " SHUNT_CLI " ops mm 2>&1 >/dev/null").text,
              HasSubstr("shunt: warning: SHUNT_PROFILE: can't write " + file + "\n"));
}

TEST(BenchCommand, TimesACallBothWays) {
  const std::string call = "bench add -a 'float32[16]' -a 'float32[16]' --repeats 5 ";
  const json both = json::parse(good(call + "--json"));
  EXPECT_EQ(both["op"], "aten::add.Tensor");
  EXPECT_EQ(both["keys"], "CPU");
  EXPECT_EQ(both["samples"], 5);
  const double interpreted = both["interpreted"]["median_ns"];
  EXPECT_GT(interpreted, 1);
  EXPECT_LE(both["interpreted"]["least_ns"], interpreted);
  const json alone = json::parse(good(call + "--json", "SHUNT_JIT=0"));
  EXPECT_FALSE(alone.contains("compiled"));
  EXPECT_THAT(alone["not_compiled"].get<std::string>(), HasSubstr("the JIT is off"));
  const std::string text = good(call);
  EXPECT_THAT(text, testing::StartsWith("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                                        "  self  Float [16] on cpu, contiguous\n"
                                        "  other  Float [16] on cpu, contiguous\n"
                                        "  alpha  1\n"
                                        "keys {CPU}; medians of 5 samples, warm\n"
                                        "interpreted "));
#ifdef SHUNT_CLI_HAS_COMPILER
  EXPECT_GT(both["compiled"]["median_ns"], 1);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("\ncompiled "), HasSubstr("\nspeedup ")));
#else
  EXPECT_THAT(text, HasSubstr("\nnot compiled: "));
#endif
}

TEST(BenchCommand, CallsAsExplainExplains) {
  const json graph = json::parse(good("bench mm -a 'float32[2,2]:grad' -a 'float32[2,2]' --repeats 1 --json"));
  EXPECT_EQ(graph["keys"], "AutogradCPU, CPU");
  const json none = json::parse(good("bench mm -a 'float32[2,2]:grad' -a 'float32[2,2]' --no-grad --repeats 1 --json"));
  EXPECT_EQ(none["keys"], "CPU");
  const json own =
      json::parse(good("--library " SHUNT_OWN_OPS " bench mine::twice -a 'float32[2]' --repeats 1 --json"));
  EXPECT_EQ(own["op"], "mine::twice");
  EXPECT_EQ(bad("bench relu"),
            "shunt: bench: argument 'self' of aten::relu is missing and has no default; the schema is "
            "aten::relu(Tensor self) -> Tensor\n");
}

}  // namespace
}  // namespace shunt
