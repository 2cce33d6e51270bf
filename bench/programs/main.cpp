// bench_programs [--rounds N] [TEXT]: what the compiler costs and gains whole programs of 0.03 to 10 s, each as a
// process without it (and without compile(), where it calls that) and, in turn, with an empty disk cache and with a
// full one. Prints the medians of the rounds' ratios, of wall-clock and CPU time, and the intervals in which they lie
// with 95 % certainty.
//
// A row is missed where the whole interval lies beyond its limit, so noise misses none; a program that is meant to gain
// has a limit below 1. With a TEXT, the programs whose names have it; --rounds instead of 40 for the shortest and fewer
// for long ones.
// Exit status 3 when a row was missed, 1 when something failed.
#include "bench/programs/interval.h"
#include "bench/programs/process.h"
#include "bench/programs/workloads.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMostCpu = 1.05, kMostWall = 1.03;  // of the time without the compiler

struct Program {
  const char* name;
  std::vector<std::string> command;  // without a folder; a workload of this program's: "", its name, amount
  const char* note = "";
  double most_wall = kMostWall, most_cpu = kMostCpu;
  bool compiles = false;  // by compile(), as it finds worth while
};

const Program kPrograms[] = {
    {"example: tracing", {"tracing"}},
    {"example: transforms", {"transforms"}},
    {"example: compile", {"compile"}},
    {"36 ms of training", {"", "train", "700"}},
    {"240 ms of training", {"", "train", "9500"}},
    {"1.2 s of training", {"", "train", "52000"}},
    {"40 ms, by compile()", {"", "train_compiled", "700"}, "", kMostWall, kMostCpu, true},
    {"240 ms, by compile()", {"", "train_compiled", "9500"}, "", kMostWall, kMostCpu, true},
    {"1.2 s, by compile()", {"", "train_compiled", "52000"}, "has to gain", 1 / 1.15, 1 / 1.15 * 1.03, true},
    {"training with Adam", {"", "adam", "8000"}},
    {"a convolutional network", {"", "conv", "12000"}},
    {"many pairs, each seldom", {"", "many_pairs", "3000"}},
    {"products of 16x16", {"", "products", "6000000"}, "a thunk is as fast as the interpreter"},
    {"operands of 16 Ki", {"", "large", "150000"}, "all in loops that both have"},
    {"small operators, 10 s", {"", "small", "33000000"}, "has to gain", 1 / 1.15, 1 / 1.15 * 1.03},
};

struct Setting {
  const char* name;
  bool keeps_cache;
};
constexpr Setting kSettings[] = {{"cold", false}, {"warm", true}};
constexpr size_t kCount = std::size(kSettings);

fs::path self() { return fs::read_symlink("/proc/self/exe"); }

std::vector<std::string> commandOf(const Program& program) {
  std::vector<std::string> out = program.command;
  if (out[0].empty()) {
    out[0] = self().string();
    out.insert(out.begin() + 1, "--run");
  } else {
    out[0] = (self().parent_path() / out[0]).string();
  }
  return out;
}

/// The user's defaults, but for what is given.
Environment environmentOf(const char* jit, const std::string& cache, std::optional<std::string> budget = std::nullopt) {
  return {{"SHUNT_JIT", jit},
          {"SHUNT_JIT_CACHE", cache},
          {"SHUNT_JIT_BUDGET", budget},
          {"SHUNT_JIT_SYNC", std::nullopt},
          {"SHUNT_JIT_KEEP", std::nullopt},
          {"SHUNT_JIT_THRESHOLD", std::nullopt},
          {"SHUNT_JIT_TIER", std::nullopt},
          {"SHUNT_COMPILE", std::nullopt},
          {"SHUNT_COMPILE_CHECK", std::nullopt},
          {"SHUNT_COMPILE_RECORD_AFTER", std::nullopt},
          {"SHUNT_STATS", std::nullopt},
          {"SHUNT_NUM_THREADS", "1"},
          {"OPENBLAS_NUM_THREADS", "1"}};
}

/// Two directories for the disk cache, gone with it.
class Caches {
 public:
  Caches() {
    std::string name = (fs::temp_directory_path() / "shunt_programs_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    root_ = name;
  }
  ~Caches() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;
  std::string of(const Setting& setting) const { return (root_ / setting.name).string(); }

 private:
  fs::path root_;
};

/// A quarter of a minute, but no fewer than an interval needs with something to leave out.
int roundsFor(double seconds) {
  constexpr int kMost = 40, kLeast = 9;
  constexpr double kShort = 0.3, kForOne = 15;
  return seconds < kShort ? kMost : std::clamp(static_cast<int>(kForOne / seconds), kLeast, kMost);
}

struct Measured {
  std::vector<double> wall, cpu;  // ratios
};

void printRow(const Program& program, double seconds, const Setting& setting, const Measured& measured, bool& held) {
  const Interval wall = intervalOf(measured.wall), cpu = intervalOf(measured.cpu);
  const bool missed = wall.low > program.most_wall || cpu.low > program.most_cpu;
  held = held && !missed;
  std::printf("%-26s %7.3f %-5s %5zu  %5.3f [%5.3f %5.3f] <= %5.3f  %5.3f [%5.3f %5.3f] <= %5.3f  %-6s %s\n",
              program.name, seconds, setting.name, measured.cpu.size(), cpu.median, cpu.low, cpu.high, program.most_cpu,
              wall.median, wall.low, wall.high, program.most_wall, missed ? "MISSED" : "ok", program.note);
  std::fflush(stdout);
}

/// Whether all of the program's rows hold.
bool measure(const Program& program, int rounds) {
  const std::vector<std::string> command = commandOf(program);
  const Caches caches;
  Environment off = environmentOf("0", "off");
  if (program.compiles) off.push_back({"SHUNT_COMPILE", "0"});
  const std::string warm = caches.of(kSettings[1]);
  runProcess(command, environmentOf("1", warm, "100"));  // all that it may ever have compiled
  double seconds = runProcess(command, off).wall;
  if (rounds == 0) rounds = roundsFor(seconds);
  std::vector<double> without;
  Measured measured[kCount];
  for (int round = 0; round < rounds; ++round) {
    for (size_t turn = 0; turn < kCount; ++turn) {
      const size_t n = (static_cast<size_t>(round) + turn) % kCount;
      const Setting& setting = kSettings[n];
      const std::string cache = caches.of(setting);
      if (!setting.keeps_cache) fs::remove_all(cache);
      // A pair, and in the next round the other way round.
      Used with, base;
      const bool first = (round / 2 + static_cast<int>(turn)) % 2 == 0;
      if (first) base = runProcess(command, off);
      with = runProcess(command, environmentOf("1", cache));
      if (!first) base = runProcess(command, off);
      measured[n].wall.push_back(with.wall / base.wall);
      measured[n].cpu.push_back(with.cpu / base.cpu);
      without.push_back(base.wall);
    }
  }
  seconds = intervalOf(without).median;
  bool held = true;
  for (size_t n = 0; n < kCount; ++n) printRow(program, seconds, kSettings[n], measured[n], held);
  return held;
}

int run(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--run") == 0) {
    if (!runWorkload(argv[2], std::atoll(argv[3]))) throw std::runtime_error("no workload " + std::string(argv[2]));
    return 0;
  }
  int rounds = 0, at = 1;
  if (argc > at + 1 && std::strcmp(argv[at], "--rounds") == 0) {
    rounds = std::max(6, std::atoi(argv[at + 1]));
    at += 2;
  }
  const char* text = argc > at ? argv[at] : "";
  std::printf("%-26s %7s %-5s %5s  %-29s  %-29s\n", "program", "seconds", "cache", "pairs",
              "CPU of that without the JIT", "wall-clock time");
  bool held = true;
  for (const Program& program : kPrograms)
    if (std::strstr(program.name, text) != nullptr) held = measure(program, rounds) && held;
  return held ? 0 : 3;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try { return bench::run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "bench_programs: %s\n", e.what());
  return 1;
}
