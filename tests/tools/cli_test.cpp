// bin/shunt: every subcommand's output and its errors, read as a person or a script would.
#include <shunt/core/dispatcher.h>
#include <shunt/core/environment.h>
#include <shunt/core/isa.h>
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include "tests/support/temporary_folder.h"
#include "tests/tools/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace shunt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using test::bad;
using test::good;
using test::withHelp;
using test::wrong;

TEST(Ops, AllAndByFilterAndWithSchemas) {
  size_t lines = 0;
  for (char c : good("ops")) lines += c == '\n';
  EXPECT_EQ(lines, Dispatcher::singleton().getAllOpNames().size());
  EXPECT_EQ(good("ops addmm"), "aten::addmm\naten::addmm.out\naten::addmm_\n");
  EXPECT_EQ(good("ops --schemas ::relu_"), "aten::relu_(Tensor(a!) self) -> Tensor(a!)\n");
  EXPECT_THAT(bad("ops nothing_like_this"), HasSubstr("no operator's name contains 'nothing_like_this'"));
}

TEST(Dump, RegistrationsAndTheTableWithReasonsAndPlaces) {
  const std::string text = good("dump relu");
  const OperatorHandle relu = Dispatcher::singleton().findSchemaOrThrow("aten::relu", "");
  EXPECT_EQ(text, relu.dumpState() + "computed table:\n" + relu.dumpComputedTable());
  EXPECT_THAT(text, testing::ContainsRegex("AutogradCPU: pointwise_derivatives.yaml:[0-9]+ \\[Autograd alias\\]"));
  EXPECT_EQ(good("dump aten::relu"), text);
  EXPECT_THAT(bad("dump relux"), HasSubstr("no such operator"));
}

TEST(Dump, AllOverloadsOfANameThatNoneHasAlone) {
  std::string expected;
  for (const char* overload : {"Scalar", "Scalar_out", "Tensor", "out"}) {
    const auto op = Dispatcher::singleton().findSchema({"aten::add", overload});
    if (op)
      expected += (expected.empty() ? "" : "\n") + op->dumpState() + "computed table:\n" + op->dumpComputedTable();
  }
  EXPECT_EQ(good("dump add"), expected);
  EXPECT_EQ(good("dump aten::add"), expected);
}

TEST(Dump, DanglingKernelsWithTheirPlaces) {
  EXPECT_EQ(good("dump --dangling"), "");
  const std::string load = "--library " SHUNT_OWN_OPS " --library " SHUNT_DANGLING_OPS " ";
  const std::string both =
      "mine::squash  CPU at dangling_ops.cpp:6\n"
      "mine::twise  CPU at dangling_ops.cpp:5; did you mean 'mine::twice'?\n";
  EXPECT_EQ(good(load + "dump --dangling"), both);
  EXPECT_EQ(good(load + "ops mine::"),
            "mine::squash  (kernels without a definition)\nmine::twice\nmine::twise  (kernels without a definition)\n");
}

TEST(Dump, DanglingKernelsAreLoggedAtTheEndOfADebugRun) {
  const auto lines = [](const std::string& arguments, const char* variables) {
    std::istringstream all(test::runCli(arguments, variables, " 2>&1 >/dev/null").text);
    std::string found;
    for (std::string line; std::getline(all, line);)
      if (line.find("no definition") != std::string::npos) found += line + "\n";
    return found;
  };
  const std::string load = "--library " SHUNT_DANGLING_OPS " ";
  EXPECT_EQ(lines(load + "ops mm", "SHUNT_LOG=debug"),
            "shunt: debug: 2 operators have kernels and no definition: mine::squash (CPU at dangling_ops.cpp:6), "
            "mine::twise (CPU at dangling_ops.cpp:5)\n");
  EXPECT_EQ(lines(load + "ops mm", ""), "");
  EXPECT_EQ(lines("--library " SHUNT_OWN_OPS " ops mm", "SHUNT_LOG=debug"), "");
}

TEST(Library, OwnOperatorsAreSeenToo) {
  const std::string load = "--library " SHUNT_OWN_OPS " ";
  EXPECT_EQ(good(load + "ops mine::"), "mine::twice\n");
  EXPECT_THAT(good(load + "dump mine::twice"), HasSubstr("\nCPU: own_ops.cpp:6 [kernel]"));
  EXPECT_THAT(good(load + "explain mine::twice -a 'float64[2]'"),
              testing::ContainsRegex("-> CPU +kernel +own_ops.cpp:6"));
  EXPECT_THAT(bad("dump mine::twice"), HasSubstr("no such operator"));
}

TEST(ExplainCommand, ADescribedCall) {
  const std::string text = good("explain add.Tensor --arg 'float32[2,3]:grad' --arg 'float32[3]:strided' -a alpha=2");
  EXPECT_THAT(text, AllOf(HasSubstr("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
                          HasSubstr("Float [2, 3] on cpu, contiguous, requires grad"),
                          HasSubstr("Float [3] on cpu, strided"), HasSubstr("alpha  2"), HasSubstr("-> AutogradCPU"),
                          HasSubstr("pair (Float contiguous, Float strided)")));
#ifdef SHUNT_CLI_HAS_COMPILER
  EXPECT_THAT(
      text, AllOf(HasSubstr("not observed yet; about 512 calls make it hot"), HasSubstr("plan for aten::add.Tensor")));
  EXPECT_THAT(good("explain cos -a 'float32[2]'", "SHUNT_JIT_THRESHOLD=7"), HasSubstr("about 7 calls make it hot"));
#else
  EXPECT_THAT(text, HasSubstr("libshunt_jit.so is not available"));
#endif
  EXPECT_THAT(good("explain cos -a 'float32[2]'", "SHUNT_JIT=0"), HasSubstr("the JIT is off"));
}

TEST(ExplainCommand, SaysThatACallWouldThrow) {
  const std::string call = "explain mm -a 'float32[2,3]:grad' -a 'float32[2,3]' ",
                    error = "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (in aten::mm)";
  EXPECT_THAT(good(call), testing::EndsWith("\nthe call would throw: " + error + "\n"));
  const auto throws = [](const std::string& line) { return nlohmann::json::parse(good(line + " --json"))["throws"]; };
  EXPECT_EQ(throws(call), error);
  EXPECT_EQ(
      throws("explain add_.Tensor -a 'float32[2]:grad' -a 'float32[2]'"),
      "a leaf Variable that requires grad is being used in an in-place operation. Use the out-of-place form, or a "
      "NoGradGuard to change it without recording. (in aten::add_.Tensor)");
  EXPECT_TRUE(throws("explain add_.Tensor -a 'float32[2]:grad' -a 'float32[2]' --no-grad").is_null());
  EXPECT_TRUE(throws("explain mm -a 'float32[2,3]' -a 'float32[3,2]'").is_null());
  EXPECT_TRUE(throws("explain nonzero -a 'float32[2,3]'").is_null()) << "that depends on elements";
  EXPECT_TRUE(throws("--library " SHUNT_OWN_OPS " explain mine::twice -a 'float32[2]'").is_null())
      << "it has no Meta kernel";
}

TEST(ExplainCommand, NeedsNoMemoryForItsTensors) {
  const std::string text = good("explain mm -a 'float32[100000,1000000]' -a 'float32[1000000,100000]'");
  EXPECT_THAT(text, AllOf(HasSubstr("Float [100000, 1000000] on cpu, contiguous"), Not(HasSubstr("would throw"))));
  EXPECT_THAT(good("explain relu -a 'float32[100000,1000000]:strided'"), HasSubstr("on cpu, strided"));
  EXPECT_THAT(good("explain empty.memory_format -a '[100000,1000000]'"), Not(HasSubstr("would throw")));
  EXPECT_THAT(
      wrong("explain relu -a 'float32[1099511627776,1099511627776]'"),
      testing::StartsWith("shunt: argument 'float32[1099511627776,1099511627776]': the number of elements of sizes "
                          "[1099511627776, 1099511627776] overflows int64\n"));
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
  EXPECT_EQ(wrong(call + "--autocast int8"),
            withHelp("option '--autocast': expected bfloat16 or float16, got 'int8'", "shunt explain"));
  EXPECT_EQ(
      wrong(call + "--autocast bflaot16"),
      withHelp(
          "option '--autocast': expected bfloat16 or float16, got 'bflaot16'; did you mean 'bfloat16' or 'float16'?",
          "shunt explain"));
}

TEST(Dump, FallbacksAreNamedWithTheirPlaces) {
  const std::string text = good("dump relu");
  EXPECT_THAT(text, testing::ContainsRegex("\nPython: dispatch_mode.cpp:[0-9]+ \\[backend fallback\\]"));
  EXPECT_THAT(text, testing::ContainsRegex("\nBackendSelect: default_fallbacks.cpp:[0-9]+ \\[fallthrough\\]"));
  const std::string all = good("dump --fallbacks");
  EXPECT_EQ(all, Dispatcher::singleton().dumpFallbacks());
  EXPECT_THAT(all, testing::ContainsRegex("Python: registered at dispatch_mode.cpp:[0-9]+ \\[boxed\\]"));
  EXPECT_EQ(wrong("dump"), withHelp("name an operator, or --fallbacks or --dangling", "shunt dump"));
}

TEST(Trace, EachStepAsTextAndAsJson) {
  const std::string call = "explain relu -a 'float32[2]:meta'";  // makes its argument by calls
  const auto traced = [&](const std::string& value) {
    return test::runCli(call, "SHUNT_TRACE=" + value, " 2>&1 >/dev/null").text;
  };
  EXPECT_THAT(traced("1"), AllOf(HasSubstr("call aten::ones keys={BackendSelect} -> BackendSelect [kernel]\n"),
                                 HasSubstr("redispatch aten::ones keys={Meta} -> Meta [CompositeExplicitAutograd]\n")));
  for (const char* on : {"on", "TRUE", "Yes"}) EXPECT_THAT(traced(on), HasSubstr("call aten::ones")) << on;
  for (const char* off : {"0", "off", "False", "NO"}) EXPECT_THAT(traced(off), Not(HasSubstr("aten::ones"))) << off;
  EXPECT_THAT(traced("jsn"),
              AllOf(HasSubstr("shunt: warning: SHUNT_TRACE=jsn: expected on, off or json; using off; did "
                              "you mean 'json'?\n"),
                    Not(HasSubstr("aten::ones"))));
  std::istringstream lines(traced("json"));
  int calls = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("{")) continue;  // a library without its compiler warns
    const auto step = nlohmann::json::parse(line);
    EXPECT_FALSE(step["reason"].get<std::string>().empty()) << line;
    EXPECT_EQ(step["keys"].empty() ? nlohmann::json("Undefined") : step["keys"][0], step["key"]) << line;
    if (step["op"] == "aten::ones" && step["kind"] == "call") ++calls;
  }
  EXPECT_EQ(calls, 1);
}

TEST(Info, AsText) {
  const std::string text = good(
      "info", "SHUNT_JIT_BUDGET=7 SHUNT_ISA=baseline SHUNT_NUM_THREADS=3 SHUNT_JIT_THRESHOLD=none SHUNT_JIT_CACHE=off");
  EXPECT_THAT(text, testing::StartsWith("version  " SHUNT_VERSION "\nbuild    clang "));
  EXPECT_THAT(text, testing::ContainsRegex("\nCPU      [^\n]+, [0-9]+ hardware threads?\n"));
  EXPECT_THAT(
      text, testing::ContainsRegex("\nISA      baseline in use, (baseline|v3|v4) is the best of this CPU and build\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\nBLAS     OpenBLAS [^\n]*, kernels for [A-Za-z0-9]+, /[^\n]*libopenblas"));
  EXPECT_THAT(text, testing::ContainsRegex("\noneDNN   [0-9]+\\.[0-9]+"));
  EXPECT_THAT(text, HasSubstr("\nthreads  3\n"));
#ifdef SHUNT_CLI_HAS_COMPILER
  EXPECT_THAT(text, testing::ContainsRegex("\nJIT      on, LLVM 19[0-9.]+, may use 7 % of the CPU time\n"));
#else
  EXPECT_THAT(text, HasSubstr("\nJIT      not available: every call is interpreted\n"));
#endif
  EXPECT_THAT(text, HasSubstr("\ncache    none\nvariables\n  SHUNT_JIT=on (default)\n    Compiles hot pairs"));
  EXPECT_THAT(text, HasSubstr("\n  SHUNT_JIT_BUDGET=7 (set)\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  SHUNT_JIT_THRESHOLD=512 (default: 'none' is not a whole number from 1 to 1073741824)\n"));
  EXPECT_THAT(text, HasSubstr("\n  SHUNT_JIT_DUMP=nothing is written (default)\n"));
  EXPECT_THAT(text, HasSubstr("\n  SHUNT_JIT_CACHE=off (set)\n"));
}

TEST(Info, ADirectoryOfTheCacheThatCannotBeMade) {
  const std::string variable = "SHUNT_JIT_CACHE=/proc/self/x", problem = variable + ": No such file or directory";
  EXPECT_EQ(test::runCli("ops ::relu_", variable, " 2>&1").text,
            "shunt: warning: " + problem + "; there is no disk cache of compiled code\naten::relu_\n");
  EXPECT_EQ(test::runCli("ops ::relu_", variable + " SHUNT_JIT=0", " 2>&1").text, "aten::relu_\n");
  EXPECT_THAT(good("info", variable), HasSubstr("\ncache    none: " + problem + "\n"));
  const auto cache = nlohmann::json::parse(good("info --json", variable))["cache"];
  EXPECT_EQ(cache["problem"], problem);
  EXPECT_EQ(cache["directory"], "");
  EXPECT_EQ(bad("cache list", variable + " SHUNT_LOG=error"),
            "shunt: " + problem + "; name another directory with --directory\n");
  const test::TemporaryFolder folder("unusable_cache");
  const std::string file = folder.path() / "file";
  std::ofstream(file) << "somebody's";
  EXPECT_THAT(good("info", "SHUNT_JIT_CACHE=" + file + "/x"),
              HasSubstr("\ncache    none: SHUNT_JIT_CACHE=" + file + "/x: Not a directory\n"));
  EXPECT_THAT(good("info", "SHUNT_JIT_CACHE=" + file),
              HasSubstr("\ncache    none: SHUNT_JIT_CACHE=" + file + ": Not a directory\n"));
  EXPECT_THAT(good("info", "SHUNT_JIT_CACHE=" + (folder.path() / "a/b").string()),
              HasSubstr("\ncache    " + (folder.path() / "a/b").string() + ": 0 files, "));
}

TEST(Info, AsJson) {
  const test::TemporaryFolder folder("info");
  std::ofstream(folder.path() / "a.thunk") << "12345";
  const auto json = nlohmann::json::parse(
      good("info --json", "SHUNT_JIT=False SHUNT_JIT_CACHE=" + folder.path().string() + " SHUNT_JIT_CACHE_MB=2"));
  EXPECT_EQ(json["version"], SHUNT_VERSION);
  EXPECT_EQ(json["isa"]["best"], toString(detail::bestIsa()));
  EXPECT_EQ(json["isa"]["used"], isa_name());
  EXPECT_EQ(json["blas"]["problem"], "");
  EXPECT_FALSE(json["jit"]["enabled"]);
  EXPECT_EQ(json["cache"], (nlohmann::json{{"directory", folder.path().string()},
                                           {"problem", ""},
                                           {"files", 1},
                                           {"bytes", 5},
                                           {"limit_bytes", 2 << 20}}));
  ASSERT_EQ(json["variables"].size(), detail::environment::kNumVariables);
  for (size_t i = 0; i < json["variables"].size(); ++i)
    EXPECT_EQ(json["variables"][i]["name"], detail::environment::kTable[i].name);
  const auto& jit = json["variables"][0];
  EXPECT_EQ(jit["value"], "off");
  EXPECT_EQ(jit["given"], "False");
  EXPECT_EQ(jit["is_set"], true);
  EXPECT_EQ(jit["default"], "on");
  EXPECT_EQ(jit["expected"], "on or off");
}

TEST(Info, NamesTheLevelInUse) {
  for (const char* level : {"baseline", "v3", "v4"}) {
    const std::string variable = std::string("SHUNT_ISA=") + level;
    const auto json = nlohmann::json::parse(good("info --json", variable + " SHUNT_LOG=error"));
    const auto& shown = *std::ranges::find(json["variables"], "SHUNT_ISA", [](const auto& v) { return v["name"]; });
    EXPECT_EQ(shown["value"], json["isa"]["used"]);
    EXPECT_EQ(shown["given"], level);
    EXPECT_EQ(shown["is_set"], json["isa"]["used"] == level);
    if (!shown["is_set"]) EXPECT_EQ(shown["expected"], "a level of this CPU and build");
  }
}

// Beyond the limit, making a file larger sends a signal that ends the process.
TEST(Stats, AReportBeyondTheLimitOfFileSizesEndsNoProgram) {
  const test::TemporaryFolder folder("stats");
  const std::string file = (folder.path() / "report.json").string();
  const auto run = [](const std::string& variable, const std::string& streams) {
    return test::runCommand("ulimit -f 0; env -u SHUNT_LOG -u SHUNT_JIT_CACHE " + variable + " " SHUNT_CLI " ops relu" +
                            streams);
  };
  const test::CommandResult to_file = run("SHUNT_STATS=" + file, " 2>&1");
  EXPECT_EQ(to_file.status, 0) << to_file.text;
  EXPECT_THAT(to_file.text, HasSubstr("SHUNT_STATS: can't write " + file));
  EXPECT_EQ(run("SHUNT_STATS=1", " 2>" + file).status, 0);
}

TEST(Info, ThePageOfVariablesIsWhatTheTableSays) {
  std::ifstream in(SHUNT_SOURCE_DIR "/docs/environment.md");
  EXPECT_EQ(good("info --environment"), std::string(std::istreambuf_iterator<char>(in), {}))
      << "run build/<preset>/bin/shunt info --environment >docs/environment.md";
  EXPECT_EQ(wrong("info --environment --json"),
            withHelp("give either --json or --environment, not both", "shunt info"));
}

TEST(Environment, AMisspeltVariableIsReportedOnceAtLoad) {
  const std::string call = "ops ::relu_", schema = "aten::relu_\n";
  const auto said = [&](const std::string& variables) { return test::runCli(call, variables, " 2>&1").text; };
  EXPECT_EQ(said("SHUNT_JIT_THRESOLD=3 SHUNT_TEST_SEED=1"),
            "shunt: warning: SHUNT_JIT_THRESOLD in the environment: Shunt reads no variable of that name; did you mean "
            "'SHUNT_JIT_THRESHOLD'?\n" +
                schema);
  EXPECT_EQ(said("SHUNT_JIT_THRESOLD=3 SHUNT_LOG=Error"), schema);
  EXPECT_EQ(said("SHUNT_LOG=eror"),
            "shunt: warning: SHUNT_LOG=eror: expected error, warning, info or debug; using warning; did you mean "
            "'error'?\n" +
                schema);
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

TEST(ExplainCommand, TheOverloadThatTakesTheArguments) {
  const auto op = [](const std::string& call) {
    return nlohmann::json::parse(good("explain --json " + call))["op"].get<std::string>();
  };
  EXPECT_EQ(op("add -a 'float32[2]' -a 'float32[2]'"), "aten::add.Tensor");
  EXPECT_EQ(op("add -a 'float32[2]' -a 2"), "aten::add.Scalar");
  EXPECT_EQ(op("add -a 'float32[2]' -a 'float32[2]' -a 'out=float32[2]'"), "aten::add.out");
  EXPECT_THAT(bad("explain add -a 'float32[2]'"),
              AllOf(testing::StartsWith("shunt: no overload of aten::add takes these arguments:\n"),
                    HasSubstr("\n  aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                              "    argument 'other' of aten::add.Tensor is missing and has no default\n"),
                    HasSubstr("\n  aten::add.out(")));
}

TEST(ExplainCommand, WhatIsWrongIsSaid) {
  EXPECT_THAT(bad("explain relu"), HasSubstr("argument 'self' of aten::relu is missing"));
  EXPECT_THAT(wrong("explain relu -a 'float32[2'"),
              AllOf(HasSubstr("'float32[2': not understood"), HasSubstr("An argument is one of")));
  EXPECT_THAT(wrong("explain relu -a 'float32[x]'"), HasSubstr("'x' is not a size"));
  EXPECT_THAT(wrong("explain relu -a 'float32[2]:fast'"), HasSubstr("'fast' is none of grad, strided, meta"));
  EXPECT_THAT(wrong("explain relu -a 'int32[2]:grad'"), HasSubstr("floating point"));
  EXPECT_THAT(bad("explain relu -a 3"), HasSubstr("expected Tensor, got"));
  EXPECT_THAT(bad("explain relu -a 'float32[2]' -a 1"), HasSubstr("has 1 arguments, got 2"));
  EXPECT_THAT(wrong("explain add.Tensor -a alpha=1 -a 'float32[2]'"), HasSubstr("arguments without a name come first"));
  EXPECT_EQ(
      wrong("explain"),
      withHelp("'shunt explain' needs the argument 'op': add.Tensor, aten::add.Tensor; add: the overload that takes "
               "the arguments",
               "shunt explain"));
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
  EXPECT_THAT(text, AllOf(HasSubstr("12345"), HasSubstr("7.25"),
                          HasSubstr("aten::mul.Tensor {CPU} (Float contiguous, Float rows)"),
                          HasSubstr("my::op {} (): CPU: nothing to inline"), HasSubstr("CPU changed to kernel")));
  EXPECT_EQ(good("stats --json " + report.file), jit::statsJson(report.stats));
  EXPECT_EQ(bad("stats /nowhere.json"), "shunt: can't read /nowhere.json: No such file or directory\n");
  EXPECT_EQ(bad("stats /"), "shunt: can't read /: it is a directory\n");
  EXPECT_EQ(bad("stats /dev/null"), "shunt: /dev/null: not a report of jit::stats: it is empty\n");
  EXPECT_EQ(bad("stats /dev/zero"), "shunt: /dev/zero: not a report of jit::stats: it has more than 67108864 bytes\n");
  std::ofstream(report.file) << "[]";
  EXPECT_EQ(bad("stats " + report.file),
            "shunt: " + report.file + ": not a report of jit::stats: it is no JSON object\n");
  std::ofstream(report.file) << "{}";
  EXPECT_THAT(bad("stats " + report.file), HasSubstr("not a report of jit::stats"));
}

TEST(ExplainCommand, PairsOfAFinishedProgram) {
  const Report report;
  const std::string text = good("explain mul.Tensor --report " + report.file);
  EXPECT_THAT(text, AllOf(HasSubstr("compiled"), HasSubstr("12345"), HasSubstr("plan for aten::mul.Tensor"),
                          Not(HasSubstr("my::op"))));
  EXPECT_EQ(good("explain mul --report " + report.file), text) << "all overloads";
  EXPECT_THAT(good("explain my::op --report " + report.file), HasSubstr("reason: CPU: nothing to inline"));
  EXPECT_THAT(bad("explain add --report " + report.file), HasSubstr("the program observed no pair of aten::add"));
}

#ifdef SHUNT_CLI_HAS_COMPILER
/// A directory of the disk cache with a few thunks, and a fused loop, that this process compiled.
struct FilledCache {
  FilledCache() {
    std::string name = (std::filesystem::temp_directory_path() / "shunt_cli_XXXXXX").string();
    directory = mkdtemp(name.data());
    jit::set_cache_directory(directory);
    const Tensor x = ones({8}, kFloat), y = ones({8}, kDouble);
    // From the first call on: whether recording pays depends on the machine.
    const auto region = compile([](const Tensor& a) { return (a * a).relu(); }, {.record_after = 1});
    for (int n = 0; n < 3000; ++n) {
      x.mul(x);
      y.relu();
      region(y);
      if (n % 1000 == 0) jit::wait_idle();
    }
    jit::wait_idle();
    jit::set_cache_directory("");
  }
  ~FilledCache() {
    jit::clear();
    std::filesystem::remove_all(directory);
  }
  std::string firstFile() const { return std::filesystem::directory_iterator(directory)->path().string(); }
  std::string option() const { return " --directory " + directory; }
  std::string directory;
};

TEST(CacheCommand, ListsVerifiesAndClears) {
  const FilledCache cache;
  const std::string text = good("cache list" + cache.option());
  EXPECT_THAT(
      text, AllOf(HasSubstr("aten::mul.Tensor {CPU} (Float contiguous, Float contiguous)"),
                  HasSubstr("aten::relu {CPU} (Double contiguous)"), HasSubstr("fused loop of 2 steps (Double)"),
                  testing::ContainsRegex("[0-9]+ thunks and fused loops, [0-9]+ bytes, in "), HasSubstr(" 0 damaged")));
  EXPECT_EQ(good("cache list", "SHUNT_JIT_CACHE=" + cache.directory), text);
  const auto json = nlohmann::json::parse(good("cache list --json" + cache.option()));
  EXPECT_EQ(json["directory"], cache.directory);
  ASSERT_GE(json["entries"].size(), 3u);
  // This program has thread-local variables elsewhere than bin/shunt, or in the same place.
  EXPECT_THAT(json["entries"][0]["state"], testing::AnyOf("usable", "other"));
  EXPECT_THAT(good("cache verify" + cache.option()), HasSubstr(" 0 damaged"));

  std::fstream(cache.firstFile(), std::ios::in | std::ios::out).seekp(100).put('~').put('~');
  const std::string verified = bad("cache verify" + cache.option());
  EXPECT_THAT(verified,
              AllOf(HasSubstr(std::filesystem::path(cache.firstFile()).filename().string() + ": its checksum is wrong"),
                    HasSubstr(" 1 damaged")));
  EXPECT_THAT(good("cache list" + cache.option()), HasSubstr("damaged"));

  std::ofstream(cache.directory + "/somebody's") << "else";
  EXPECT_THAT(good("cache clear" + cache.option()),
              HasSubstr("removed " + std::to_string(json["entries"].size()) + " files"));
  EXPECT_THAT(good("cache list" + cache.option()), HasSubstr("0 thunks and fused loops"));
  EXPECT_TRUE(std::filesystem::exists(cache.directory + "/somebody's")) << "no file of the cache";
}

TEST(CacheCommand, WhatIsWrongIsSaid) {
  EXPECT_THAT(good("cache list --directory /nowhere/at/all"), HasSubstr("0 thunks and fused loops"));
  EXPECT_THAT(good("cache clear --directory /nowhere/at/all"), HasSubstr("removed 0 files"));
  EXPECT_THAT(bad("cache list --directory /dev/null"),
              HasSubstr("the disk cache in '/dev/null': can't open it: Not a directory"));
  EXPECT_EQ(wrong("cache"), withHelp("name a command: list, verify, clear", "shunt cache"));
  EXPECT_THAT(good("cache list", "SHUNT_JIT_CACHE= XDG_CACHE_HOME=/nowhere"), HasSubstr("in /nowhere/shunt"));
}
#else
TEST(CacheCommand, NeedsTheCompiler) {
  EXPECT_THAT(good("cache list --directory /nowhere/at/all"), HasSubstr("0 thunks and fused loops"));
  EXPECT_THAT(bad("cache list --directory /"), HasSubstr("libshunt_jit.so is not available"));
}
#endif

}  // namespace
}  // namespace shunt
