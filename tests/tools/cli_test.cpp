// bin/shunt: every subcommand's output and its errors, read as a person or a script would.
#include <shunt/core/dispatcher.h>
#include <shunt/jit/jit.h>

#include "tests/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace shunt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

test::CommandResult shunt_cli(const std::string& arguments, const std::string& variables = "") {
  return test::runCommand("env -u SHUNT_JIT -u SHUNT_STATS " + variables + " " SHUNT_CLI " " + arguments + " 2>&1");
}

std::string good(const std::string& arguments, const std::string& variables = "") {
  const test::CommandResult ran = shunt_cli(arguments, variables);
  EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.text;
  return ran.text;
}

std::string bad(const std::string& arguments) {
  const test::CommandResult ran = shunt_cli(arguments);
  EXPECT_NE(ran.status, 0) << arguments << "\n" << ran.text;
  EXPECT_NE(ran.status, -1) << arguments << "\n" << ran.text;
  return ran.text;
}

TEST(Ops, AllAndByFilterAndWithSchemas) {
  size_t lines = 0;
  for (char c : good("ops")) lines += c == '\n';
  EXPECT_EQ(lines, Dispatcher::singleton().getAllOpNames().size());
  EXPECT_EQ(good("ops addmm"), "aten::addmm\naten::addmm.out\naten::addmm_\n");
  EXPECT_EQ(good("ops --schemas relu_"), "aten::relu_(Tensor(a!) self) -> Tensor(a!)\n");
  EXPECT_THAT(bad("ops nothing_like_this"), HasSubstr("no operator's name contains 'nothing_like_this'"));
}

TEST(Dump, RegistrationsAndTheTableWithReasonsAndPlaces) {
  const std::string text = good("dump relu");
  const OperatorHandle relu = Dispatcher::singleton().findSchemaOrThrow("aten::relu", "");
  EXPECT_EQ(text, relu.dumpState() + "computed table:\n" + relu.dumpComputedTable());
  EXPECT_THAT(text, testing::ContainsRegex("AutogradCPU: derivatives.yaml:[0-9]+ \\[Autograd alias\\]"));
  EXPECT_EQ(good("dump aten::relu"), text);
  EXPECT_THAT(bad("dump relux"), HasSubstr("no such operator"));
  EXPECT_THAT(bad("dump add"), HasSubstr("aten::add.Tensor"));
}

TEST(Library, OwnOperatorsAreSeenToo) {
  const std::string load = "--library " SHUNT_OWN_OPS " ";
  EXPECT_EQ(good(load + "ops mine::"), "mine::twice\n");
  EXPECT_THAT(good(load + "dump mine::twice"), HasSubstr("\nCPU: own_ops.cpp:6 [kernel]"));
  EXPECT_THAT(good(load + "explain mine::twice -a 'float64[2]'"), testing::ContainsRegex("-> CPU +kernel +own_ops.cpp:6"));
  EXPECT_THAT(bad("dump mine::twice"), HasSubstr("no such operator"));
}

TEST(ExplainCommand, ADescribedCall) {
  const std::string text = good("explain add.Tensor --arg 'float32[2,3]:grad' --arg 'float32[3]:strided' -a alpha=2");
  EXPECT_THAT(text, AllOf(HasSubstr("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
                          HasSubstr("Float [2, 3] on cpu, contiguous, requires grad"), HasSubstr("Float [3] on cpu, strided"),
                          HasSubstr("alpha  2"), HasSubstr("-> AutogradCPU"), HasSubstr("pair (Float contiguous, Float strided)")));
#ifdef SHUNT_CLI_HAS_COMPILER
  EXPECT_THAT(text, AllOf(HasSubstr("not observed yet; about 512 calls make it hot"), HasSubstr("plan for aten::add.Tensor")));
  EXPECT_THAT(good("explain cos -a 'float32[2]'", "SHUNT_JIT_THRESHOLD=7"), HasSubstr("about 7 calls make it hot"));
#else
  EXPECT_THAT(text, HasSubstr("libshunt_jit.so is not available"));
#endif
  EXPECT_THAT(good("explain cos -a 'float32[2]'", "SHUNT_JIT=0"), HasSubstr("the JIT is off"));
}

TEST(ExplainCommand, Modes) {
  const std::string call = "explain mm -a 'float32[2,2]:grad' -a 'float32[2,2]' --json ";
  const auto chosen = [&](const std::string& mode) {
    return nlohmann::json::parse(good(call + mode))["keys"]["call"].get<std::string>();
  };
  EXPECT_EQ(chosen(""), "AutogradCPU, CPU");
  EXPECT_EQ(chosen("--no-grad"), "CPU");
  EXPECT_EQ(chosen("--inference"), "CPU");
  EXPECT_EQ(chosen("--autocast bfloat16"), "AutogradCPU, AutocastCPU, CPU");
  EXPECT_THAT(bad(call + "--autocast int8"), HasSubstr("bfloat16 or float16"));
}

TEST(ExplainCommand, ArgumentsOfEveryKind) {
  const auto value = [](const std::string& call, size_t i) {
    return nlohmann::json::parse(good("explain --json " + call))["arguments"][i]["value"].get<std::string>();
  };
  EXPECT_EQ(value("cat -a '[float32[2],int64[3]]' -a 0", 0), "[Tensor(float32, [2], cpu), Tensor(int64, [3], cpu)]");
  EXPECT_EQ(value("sum.dim_IntList -a 'float32[2,2]' -a '[0,1]' -a true", 1), "[0, 1]");
  EXPECT_EQ(value("sum.dim_IntList -a 'float32[2,2]' -a '[0,1]' -a true", 2), "True");
  EXPECT_EQ(value("clamp -a 'float32[2]' -a none -a 2.5", 1), "None");
  EXPECT_EQ(value("clamp -a 'float32[2]' -a none -a 2.5", 2), "2.5");
  EXPECT_EQ(value("empty.memory_format -a '[2]' -a dtype=float64 -a device=meta", 0), "[2]");
  EXPECT_EQ(value("gelu -a 'bfloat16[]' -a \"approximate='tanh'\"", 1), "\"tanh\"");
  EXPECT_EQ(value("gelu -a 'float16[4]:meta'", 0), "Half [4] on meta, contiguous");
  EXPECT_EQ(value("gelu -a 'bool[0]'", 0), "Bool [0] on cpu, contiguous");
}

TEST(ExplainCommand, WhatIsWrongIsSaid) {
  EXPECT_THAT(bad("explain relu"), HasSubstr("argument 'self' of aten::relu is missing"));
  EXPECT_THAT(bad("explain relu -a 'float32[2'"), AllOf(HasSubstr("'float32[2': not understood"), HasSubstr("An argument is one of")));
  EXPECT_THAT(bad("explain relu -a 'float32[x]'"), HasSubstr("'x' is not a size"));
  EXPECT_THAT(bad("explain relu -a 'float32[2]:fast'"), HasSubstr("'fast' is none of grad, strided, meta"));
  EXPECT_THAT(bad("explain relu -a 'int32[2]:grad'"), HasSubstr("floating point"));
  EXPECT_THAT(bad("explain relu -a 3"), HasSubstr("expected Tensor, got"));
  EXPECT_THAT(bad("explain relu -a 'float32[2]' -a 1"), HasSubstr("has 1 arguments, got 2"));
  EXPECT_THAT(bad("explain add.Tensor -a alpha=1 -a 'float32[2]'"), HasSubstr("arguments without a name come first"));
  EXPECT_THAT(bad("explain"), HasSubstr("op is required"));
  EXPECT_THAT(bad("surprise"), HasSubstr("subcommand"));
  EXPECT_THAT(bad("--library /nowhere.so ops"), HasSubstr("can't load /nowhere.so"));
}

/// A report with two pairs, as a program would have left it.
struct Report {
  Report() {
    stats.available = stats.counts_calls = true;
    stats.compiled = stats.refused = 1;
    jit::PairStats compiled;
    compiled.op = "aten::mul.Tensor";
    compiled.keys = "CPU";
    compiled.signature = "Float contiguous, Float rows";
    compiled.state = jit::PairState::kCompiled;
    compiled.interpreted = 512;
    compiled.in_thunks = 12345;
    compiled.guard_misses = 6;
    compiled.times.optimise = 7.25;
    compiled.plan = "plan for aten::mul.Tensor\n";
    jit::PairStats refused;
    refused.op = "my::op";
    refused.state = jit::PairState::kRefused;
    refused.reason = "CPU: nothing to inline";
    stats.pairs = {compiled, refused};
    stats.invalidations.push_back({"aten::mul.Tensor keys={CPU}", "aten::mul.Tensor: CPU changed to kernel"});
    std::string name = (std::filesystem::temp_directory_path() / "shunt_cli_XXXXXX").string();
    close(mkstemp(name.data()));
    file = name;
    std::ofstream(file) << jit::statsJson(stats);
  }
  ~Report() { std::filesystem::remove(file); }
  jit::Stats stats;
  std::string file;
};

TEST(StatsCommand, PrintsTheTableOfAReport) {
  const Report report;
  const std::string text = good("stats " + report.file);
  EXPECT_EQ(text, jit::statsTable(report.stats));
  EXPECT_THAT(text, AllOf(HasSubstr("12345"), HasSubstr("7.25"), HasSubstr("aten::mul.Tensor {CPU} (Float contiguous, Float rows)"),
                          HasSubstr("my::op {} (): CPU: nothing to inline"), HasSubstr("CPU changed to kernel")));
  EXPECT_EQ(good("stats --json " + report.file), jit::statsJson(report.stats));
  EXPECT_THAT(bad("stats /nowhere.json"), HasSubstr("can't read /nowhere.json"));
  std::ofstream(report.file) << "{}";
  EXPECT_THAT(bad("stats " + report.file), HasSubstr("not a report of jit::stats"));
}

TEST(ExplainCommand, PairsOfAFinishedProgram) {
  const Report report;
  const std::string text = good("explain mul.Tensor --report " + report.file);
  EXPECT_THAT(text, AllOf(HasSubstr("compiled"), HasSubstr("12345"), HasSubstr("plan for aten::mul.Tensor"), Not(HasSubstr("my::op"))));
  EXPECT_EQ(good("explain mul --report " + report.file), text) << "all overloads";
  EXPECT_THAT(good("explain my::op --report " + report.file), HasSubstr("reason: CPU: nothing to inline"));
  EXPECT_THAT(bad("explain add --report " + report.file), HasSubstr("the program observed no pair of aten::add"));
}

}  // namespace
}  // namespace shunt
