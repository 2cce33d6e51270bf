// The environment variables that Shunt reads, in one table. Readers take bounds and defaults from it; `shunt info` and
// docs/environment.md are made from it.
//
// Each reader reads its variable once and keeps the answer. Any thread may read while no thread changes the
// environment. Values are read by secure_getenv: in a program with more rights than its caller, such as a set-user-ID
// one, the caller's environment must not choose what it writes, loads or runs.
#pragma once

#include <shunt/core/macros.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::detail::environment {

enum class Variable : uint8_t {
  kJit,
  kJitThreshold,
  kJitSync,
  kJitKeep,
  kJitTier,
  kJitBudget,
  kJitCache,
  kJitCacheMb,
  kJitMaxCode,
  kJitDump,
  kJitPerf,
  kJitGdb,
  kStats,
  kTrace,
  kProfile,
  kLog,
  kIsa,
  kNumThreads,
  kCompile,
  kCompileCheck,
  kCompileRecordAfter,
  kTorch,
  kTorchCheck,
};

/// Which paths a variable accepts, in addition to the row's words.
enum class Path : uint8_t {
  kNone,
  kFile,      // other text is a file name
  kAbsolute,  // other text that begins with / is a directory
  kMade,      // other text is a directory, which readDirectory makes
};

struct Row {
  Variable variable;
  const char* name;
  bool is_flag = false;         // accepts 1, on, true, yes; 0, off, false, no
  const char* words = "";       // further accepted words, separated by spaces
  int64_t least = 1, most = 0;  // bounds of a whole number; least > most: accepts no number
  Path path = Path::kNone;
  const char* fallback = "";  // the default value; empty: `instead` describes the default
  const char* instead = "";
  const char* reader;       // the libraries or packages that read it
  const char* description;  // sentences in Markdown
};

inline constexpr const char *kLibrary = "libshunt", *kCompiler = "libshunt_jit", *kBoth = "libshunt, libshunt_jit",
                            *kTorchPackage = "shunt_torch", *kAndPython = "libshunt, Python's shunt";

// clang-format off
inline constexpr Row kTable[] = {
  {.variable = Variable::kJit, .name = "SHUNT_JIT", .is_flag = true, .fallback = "on", .reader = kLibrary,
   .description = "Compiles hot pairs of operator and keyset. `off` interprets every call."},
  {.variable = Variable::kJitThreshold, .name = "SHUNT_JIT_THRESHOLD", .least = 1, .most = 1 << 30,
   .fallback = "512", .reader = kLibrary,
   .description = "The number of calls after which a pair is compiled."},
  {.variable = Variable::kJitSync, .name = "SHUNT_JIT_SYNC", .is_flag = true, .fallback = "off", .reader = kLibrary,
   .description = "Compiles in the calling thread, without a budget, and times no calls. For tests."},
  {.variable = Variable::kJitKeep, .name = "SHUNT_JIT_KEEP", .is_flag = true, .fallback = "off", .reader = kLibrary,
   .description = "Keeps thunks that are slower than the interpreter or that many calls miss, without a budget, and "
                  "times no calls."},
  {.variable = Variable::kJitTier, .name = "SHUNT_JIT_TIER", .words = "auto 1 2 both", .fallback = "auto",
   .reader = kLibrary,
   .description = "`auto`: compiles a pair quickly, and thoroughly once it stays hot. `1`, `2`: only the quick or "
                  "only the thorough compile. `both`: as `auto`, also under `SHUNT_JIT_KEEP`. Where calls are not "
                  "timed, `auto` means `2`."},
  {.variable = Variable::kJitBudget, .name = "SHUNT_JIT_BUDGET", .least = 0, .most = 100, .fallback = "3",
   .reader = kLibrary,
   .description = "The percentage of the process's CPU time that compiling may take. `100` sets no limit; `0` compiles "
                  "nothing."},
  {.variable = Variable::kJitCache, .name = "SHUNT_JIT_CACHE", .is_flag = true, .path = Path::kAbsolute,
   .fallback = "on", .reader = kLibrary,
   .description = "Where compiled code is kept between processes. `on` is `$XDG_CACHE_HOME/shunt` or "
                  "`~/.cache/shunt`."},
  {.variable = Variable::kJitCacheMb, .name = "SHUNT_JIT_CACHE_MB", .least = 1, .most = 1 << 20, .fallback = "256",
   .reader = kLibrary,
   .description = "The size limit of that directory in MiB."},
  {.variable = Variable::kJitMaxCode, .name = "SHUNT_JIT_MAX_CODE", .least = 0, .most = INT64_MAX,
   .fallback = "268435456", .reader = kCompiler,
   .description = "The limit for compiled code in memory, in bytes. Beyond it, pairs stay interpreted."},
  {.variable = Variable::kJitDump, .name = "SHUNT_JIT_DUMP", .path = Path::kMade, .instead = "nothing is written",
   .reader = kBoth,
   .description = "Writes the thunk plan, LLVM IR and assembly of each compile, and the graph and graph plan of each "
                  "compiled function, to this directory."},
  {.variable = Variable::kJitPerf, .name = "SHUNT_JIT_PERF", .is_flag = true, .fallback = "off", .reader = kCompiler,
   .description = "Writes `/tmp/perf-<process>.map`, from which `perf report` takes the names of thunks."},
  {.variable = Variable::kJitGdb, .name = "SHUNT_JIT_GDB", .is_flag = true, .fallback = "off", .reader = kCompiler,
   .description = "Registers thunks with gdb, which then shows their names and unwinds through them."},
  {.variable = Variable::kStats, .name = "SHUNT_STATS", .is_flag = true, .path = Path::kFile, .fallback = "off",
   .reader = kLibrary,
   .description = "Counts the calls in thunks. `on` prints the table of hot pairs to stderr when the program ends; a "
                  "file name writes the report there as JSON, with `%p` replaced by the process id."},
  {.variable = Variable::kTrace, .name = "SHUNT_TRACE", .is_flag = true, .words = "json", .fallback = "off",
   .reader = kLibrary,
   .description = "Prints every dispatch step to stderr: `on` as indented text, `json` as one JSON object per line."},
  {.variable = Variable::kProfile, .name = "SHUNT_PROFILE", .is_flag = true, .path = Path::kFile, .fallback = "off",
   .reader = kLibrary,
   .description = "Times every call of an operator, interpreted. `on` prints a table of operators to stderr when the "
                  "program ends; a file name also writes a trace of the calls there, for Perfetto, with `%p` "
                  "replaced by the process id."},
  {.variable = Variable::kLog, .name = "SHUNT_LOG", .words = "error warning info debug", .fallback = "warning",
   .reader = kLibrary,
   .description = "The least important level of messages that the default log sink prints."},
  {.variable = Variable::kIsa, .name = "SHUNT_ISA", .words = "baseline v3 v4",
   .instead = "the best that the CPU has", .reader = kLibrary,
   .description = "The x86-64 level whose instructions loops and thunks use: `v3` has AVX2, `v4` AVX-512."},
  {.variable = Variable::kNumThreads, .name = "SHUNT_NUM_THREADS", .least = 1, .most = 4096,
   .instead = "one per hardware thread", .reader = kLibrary,
   .description = "The number of threads for large operators."},
  {.variable = Variable::kCompile, .name = "SHUNT_COMPILE", .is_flag = true, .fallback = "on", .reader = kAndPython,
   .description = "Records functions given to `compile` as graphs. `off` calls the function each time."},
  {.variable = Variable::kCompileCheck, .name = "SHUNT_COMPILE_CHECK", .is_flag = true,
   .words = "first always never", .fallback = "first", .reader = kLibrary,
   .description = "Which runs of a recorded graph are compared with the function: `first` the first ones and then "
                  "fewer and fewer, `on` or `always` all, `off` or `never` none."},
  {.variable = Variable::kCompileRecordAfter, .name = "SHUNT_COMPILE_RECORD_AFTER", .words = "auto", .least = 1,
   .most = INT_MAX, .fallback = "auto", .reader = kAndPython,
   .description = "The number of calls after which `compile` records a function. `auto` records when it pays. "
                  "Without the variable, Python's `shunt.compile` records at the third call."},
  {.variable = Variable::kTorch, .name = "SHUNT_TORCH", .is_flag = true, .fallback = "on", .reader = kTorchPackage,
   .description = "Captures PyTorch functions. `off` runs them unchanged."},
  {.variable = Variable::kTorchCheck, .name = "SHUNT_TORCH_CHECK", .words = "first always never",
   .fallback = "first", .reader = kTorchPackage,
   .description = "Which replays of a captured function are compared with it: `first` the first three and then fewer "
                  "and fewer, `always` all, `never` none."},
};
// clang-format on
inline constexpr size_t kNumVariables = std::size(kTable);

constexpr const Row& rowOf(Variable v) { return kTable[static_cast<size_t>(v)]; }
static_assert(
    [] {
      for (size_t i = 0; i < kNumVariables; ++i)
        if (kTable[i].variable != static_cast<Variable>(i)) return false;
      return rowOf(Variable::kTorchCheck).variable == Variable::kTorchCheck;
    }(),
    "the table's rows stand in the order of the enumerators");

/// A variable that only scripts, tests and benchmarks read.
struct ScriptRow {
  const char* name;
  const char* description;
};
inline constexpr ScriptRow kScriptTable[] = {
    {"SHUNT_TEST_SEED", "The seed of tests that draw their cases; without it, the current day's number."},
    {"SHUNT_TEST_LONG", "`1` makes tests draw all of their cases."},
    {"SHUNT_TEST_PROGRAM", "The seed of the one program that `programs_test` draws."},
    {"SHUNT_TEST_PROGRAMS", "How many programs `programs_test` draws."},
    {"SHUNT_TEST_PRINT_VARIABLE", "Used by `blas_test` for the processes that it starts."},
    {"SHUNT_TEST_VERBOSE", "If set, `error_table_test` prints every message."},
    {"SHUNT_TEST_BUDGET", "The CPU seconds that `tests/budget` allows a test."},
    {"SHUNT_OBJECT_BUDGET", "The CPU seconds that `tests/budget` allows the compilation of a file."},
    {"SHUNT_STRESS_SECONDS", "How long `threads_test` runs."},
    {"SHUNT_FUZZ_SECONDS", "How long `tests/long fuzz` draws calls."},
    {"SHUNT_FUZZ_FILES_SECONDS", "How long `tests/long fuzz` runs the readers of files."},
    {"SHUNT_FUZZ_SEED", "The seed of `test_fuzz_arguments.py`."},
    {"SHUNT_RANDOM_PROGRAMS", "How many programs `test_compile_random.py` draws."},
    {"SHUNT_RANDOM_SEED", "The first seed of `test_compile_random.py`."},
    {"SHUNT_INDEXING_SAMPLES", "How many cases `test_indexing.py` draws."},
    {"SHUNT_MACHINE", "The machine that a test with the label `machines` runs on."},
    {"SHUNT_FAULT", "The fault that a test's preloaded library causes."},
    {"SHUNT_ARRAY_API", "The folder of array-api-tests."},
    {"SHUNT_ARRAY_API_EXAMPLES", "How many examples array-api-tests draws for each test."},
    {"SHUNT_PROGRAMS", "The folder of third-party programs that `tests/long` runs."},
    {"SHUNT_OPINFO_FOUND", "The file to which `test_opinfo.py` writes the differences that it found."},
    {"SHUNT_TORCH_REFUSALS", "The file to which the tests of `shunt_torch` write refusals."},
    {"SHUNT_BENCH_LIBTORCH", "`none` runs benchmarks without libtorch."},
    {"SHUNT_BENCH_DESCRIBE", "If set, the benchmark of `compile` prints its graph plan."},
    {"SHUNT_PYTHONS", "Further Python interpreters for `tools/find_pythons`, separated by colons."},
    {"SHUNT_DEBIAN_MIRROR", "Where `tests/packages` gets Debian's packages."},
};

/// The parsed value of a variable.
struct Value {
  enum class Form : uint8_t { kNone, kFlag, kWord, kNumber, kPath };  // kNone: unset and without a fallback
  Form form = Form::kNone;
  bool on = false;
  int64_t number = 0;
  std::string text;     // the word as the table spells it, "on" or "off", the number, or the path
  bool is_set = false;  // whether the environment has an accepted value

  bool isFlag(bool value) const { return form == Form::kFlag && on == value; }
  bool isWord(std::string_view word) const { return form == Form::kWord && text == word; }
};

/// The value of the text, or nothing if the row doesn't accept it. Upper and lower case of words are the same.
SHUNT_API std::optional<Value> parse(const Row& row, std::string_view text);
/// What the row accepts, for messages: "on, off or json".
SHUNT_API std::string expected(const Row& row);
/// The variable's text, or null if it is unset or empty.
SHUNT_API const char* textOf(Variable variable);
/// The variable's value, or the table's fallback. For a value that isn't accepted, `complaint` becomes a warning, which
/// names `otherwise` as the value in use, or the table's fallback if that is empty.
SHUNT_API Value read(Variable variable, std::string& complaint, const std::string& otherwise = "");
/// As above, but logs the warning, once per variable and process.
SHUNT_API Value read(Variable variable, const std::string& otherwise = "");
/// The variable's directory, which is made if it doesn't exist. Empty if the variable is unset, or, with a logged
/// warning, if the directory can't be made.
SHUNT_API std::string readDirectory(Variable variable);
/// A warning for each variable that begins with SHUNT_ and is in neither table. `variables` has environ(7)'s format.
SHUNT_API std::vector<std::string> complaintsAboutNames(const char* const* variables);

/// read() for variables that are only a flag, only a number, or a directory.
template <Variable variable>
bool flag() {
  constexpr const Row& row = rowOf(variable);
  static_assert(row.is_flag && *row.words == 0 && row.least > row.most && row.path == Path::kNone, "no plain flag");
  return read(variable).on;
}

template <Variable variable>
int64_t number() {
  constexpr const Row& row = rowOf(variable);
  static_assert(!row.is_flag && *row.words == 0 && row.least <= row.most && *row.fallback != 0, "no plain number");
  return read(variable).number;
}

template <Variable variable>
std::string directory() {
  static_assert(rowOf(variable).path == Path::kMade, "no directory to be made");
  return readDirectory(variable);
}

}  // namespace shunt::detail::environment
