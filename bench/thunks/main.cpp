// bench_bars [text]: what the compiler must reach, measured and judged. With a text, the rows whose names have it.
//
// Two sides of a ratio take turns of a millisecond in one process (or in two, where the environment differs), and the
// median of the turns' ratios counts. Exit status 1 when a bar was missed or, though CPU and system have what it takes,
// not measured; 2 when something failed.
#include "bench/calls/compiled.h"
#include "bench/jit_settings.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"
#include "bench/thunks/worker.h"

#include <shunt/core/isa.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <list>
#include <stdexcept>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

enum class When {
  kAlone,     // times something
  kTogether,  // counts: these run at the same time, after the others
  kAsked,     // another part starts it
};

struct Part {
  const char* name;
  void (*run)();
  Settings settings;
  When when = When::kAlone;
};

const Settings kCompiledAtOnce = {{"SHUNT_JIT_SYNC", "1"}, {"SHUNT_JIT_THRESHOLD", "1"}, {"SHUNT_JIT_CACHE", "off"}};

const Settings kCompiledByTheThread = {
    {"SHUNT_JIT_TIER", "2"}, {"SHUNT_JIT_KEEP", "1"}, {"SHUNT_JIT_THRESHOLD", "1"}, {"SHUNT_JIT_CACHE", "off"}};

const Settings kCompiledSoon = {{"SHUNT_JIT_THRESHOLD", std::to_string(kThreshold)}, {"SHUNT_JIT_KEEP", "1"}};

/// v3, but where the CPU has less or the environment asks for less.
const char* atMostV3() { return toString(std::min(shunt::detail::activeIsa(), shunt::Isa::kV3)); }

Settings with(Settings settings, const char* name, std::string value) {
  settings.emplace_back(name, std::move(value));
  return settings;
}

/// A name only; the part that uses it removes it.
std::string temporaryDirectory() {
  return (std::filesystem::temp_directory_path() / ("shunt-bars-" + std::to_string(getpid()))).string();
}

const Part kParts[] = {
    {"ratios", &ratioBars, kCompiledSoon},
    {"AVX2 ratios", &avx2RatioBars, with(kCompiledSoon, "SHUNT_ISA", atMostV3())},
    {kRatiosByDefault, &ratiosByDefault, {}, When::kAsked},
    {kAvx2RatiosByDefault, &avx2RatiosByDefault, {}, When::kAsked},
    {"compile times", &compileTimeBars, {}},
    {"loads",
     &loadBars,
     {{"SHUNT_JIT_SYNC", "1"}, {"SHUNT_JIT_THRESHOLD", "1"}, {"SHUNT_JIT_CACHE", temporaryDirectory()}}},
    {"never slower", &neverSlowerBars, {}},
    {"modes", &modeBars, {{"SHUNT_JIT", "0"}}},
    {"transforms", &transformBars, kCompiledSoon},
    {"instructions", &instructionBars, {}, When::kTogether},
    {"memory", &memoryBars, kCompiledByTheThread, When::kTogether},
    {"growth", &growthBars, kCompiledAtOnce, When::kTogether},
};

/// A part in a process of its own, whose rows are shown when it has ended.
class Running {
 public:
  Running(const Part& part, const char* filter) : part_(part) {
    if (part.when == When::kTogether && (rows_ = std::tmpfile()) == nullptr) fail("no temporary file can be made");
    if ((child_ = fork()) < 0) fail("fork failed");
    if (child_ != 0) return;
    for (const auto& [name, value] : part.settings) setenv(name, value.c_str(), 1);
    if (rows_ != nullptr) dup2(fileno(rows_), STDOUT_FILENO);
    execl("/proc/self/exe", "bench_bars", "--part", part.name, filter, nullptr);
    std::perror("bench_bars can't start itself again");
    _exit(2);
  }
  ~Running() {
    if (rows_ != nullptr) std::fclose(rows_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Waits, prints the rows that weren't printed yet, and returns the exit status.
  int wait() {
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child_, &status, 0)) < 0 && errno == EINTR) {
    }
    if (rows_ != nullptr) std::rewind(rows_);
    for (int c; rows_ != nullptr && (c = std::fgetc(rows_)) != EOF;) std::putchar(c);
    std::fflush(stdout);
    if (ended == child_ && WIFEXITED(status) && WEXITSTATUS(status) <= 1) return WEXITSTATUS(status);
    std::fprintf(stderr, "bench_bars: part %s failed; its bars were not all measured\n", part_.name);
    return 2;
  }

 private:
  static void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

  const Part& part_;
  std::FILE* rows_ = nullptr;
  pid_t child_ = -1;
};

int runAll(const char* filter) {
  // One thread everywhere; a choice that is there already holds.
  for (const char* name : {"SHUNT_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) setenv(name, "1", 0);
  printHeader();
  std::fflush(stdout);
  int worst = 0;
  std::list<Running> together;
  for (const Part& part : kParts) {
    if (part.when == When::kAlone) worst = std::max(worst, Running(part, filter).wait());
    if (part.when == When::kTogether) together.emplace_back(part, filter);
  }
  for (Running& part : together) worst = std::max(worst, part.wait());
  return worst;
}

int runNamed(std::string_view name) {
  for (const Part& part : kParts)
    if (name == part.name) {
      part.run();
      return missed() == 0 ? 0 : 1;
    }
  throw std::runtime_error("no part " + std::string(name));
}

int run(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--worker") == 0) return serveAsWorker(argv[2]);
  const bool is_part = argc == 4 && std::strcmp(argv[1], "--part") == 0;
  setFilter(is_part ? argv[3] : argc > 1 ? argv[1] : "");
  return is_part ? runNamed(argv[2]) : runAll(argc > 1 ? argv[1] : "");
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  bench::compileAtWill();
  return bench::run(argc, argv);
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_bars: %s\n", e.what());
  return 2;
}
