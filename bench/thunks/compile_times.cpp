// CPU time of compiles of either tier, over all compiles of the digits run, in which pairs go from the first tier to
// the second, and of the test that compares every operator's calls in thunks, in a run for each tier.
#include "bench/thunks/command.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"

#include <shunt/jit/jit.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

using namespace shunt;
namespace fs = std::filesystem;

struct Compile {
  std::string op;
  jit::CompileTimes times;
};

struct Compiles {
  std::vector<Compile> all;
  size_t reused = 0;  // beside them: thunks that are another pair's code, linked again

  void add(const std::string& op, const jit::CompileTimes& times) {
    if (times.extract != 0)
      all.push_back({op, times});
    else
      reused += times.total() != 0;
  }
};

/// Adds what a program compiled, from its report: each pair's last compile, and the one of the first tier before it.
void addCompiles(const fs::path& program, const std::string& arguments, const std::string& settings, Compiles& out) {
  const fs::path report = fs::temp_directory_path() / ("shunt-bars-" + std::to_string(getpid()) + ".json");
  const std::string command = "SHUNT_JIT_CACHE=off SHUNT_STATS='" + report.string() + "' " + settings + " '" +
                              program.string() + "' " + arguments + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(report).rdbuf();
  fs::remove(report);
  // 1 is the program's own verdict on what it computed, which is not what is measured here.
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) throw std::runtime_error("failed: " + command);
  for (const jit::PairStats& p : jit::statsFromJson(text.str()).pairs) {
    if (p.compiles == 0) continue;
    out.add(p.op, p.times);
    out.add(p.op, p.first_times);
  }
}

double quantile(const std::vector<Compile>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))].times.total();
}

std::string phasesOf(const std::vector<Compile>& compiles) {
  std::string out;
  for (const jit::CompilePhase& phase : jit::kCompilePhases) {
    double sum = 0;
    for (const Compile& c : compiles) sum += c.times.*phase.ms;
    char text[64];
    std::snprintf(text, sizeof text, "%s%s %.2f", out.empty() ? "" : ", ", phase.name,
                  sum / static_cast<double>(compiles.size()));
    out += text;
  }
  return out;
}

}  // namespace

void compileTimeBars() {
  const char* const kMedian = "compile time of a thunk, median, ms of CPU";
  const char* const kP95 = "compile time of a thunk, 95th percentile, ms of CPU";
  if (!wanted(kMedian) && !wanted(kP95)) return;
  const fs::path folder = programFolder();
  Compiles found;
  std::string missing;
  const auto take = [&](const char* name, const char* arguments, const char* settings) {
    if (!fs::exists(folder / name)) {
      missing += std::string("; ") + name + " is not built";
      return;
    }
    addCompiles(folder / name, arguments, settings, found);
  };
  take("digits", "--epochs 1", "SHUNT_JIT_THRESHOLD=16");
  for (const char* tier : {"1", "2"})
    take("diff_test", "--cases 2",
         (std::string("SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1 SHUNT_JIT_TIER=") + tier).c_str());
  // The bars are about the compiles of all of them.
  std::vector<Compile>& compiles = found.all;
  if (compiles.empty() || !missing.empty()) {
    for (const auto& [what, most] : {std::pair{kMedian, 12.0}, {kP95, 20.0}})
      printRow({what, kNoFigure, most, missing.empty() ? "nothing was compiled" : missing.substr(2)});
    return;
  }
  std::ranges::sort(compiles, {}, [](const Compile& c) { return c.times.total(); });
  const std::string of = std::to_string(compiles.size()) + " compiles, " + std::to_string(found.reused) +
                         " thunks of code compiled before";
  printRow({kMedian, quantile(compiles, 0.5), 12, of + "; means: " + phasesOf(compiles)});
  const std::vector<Compile> slow(compiles.begin() + static_cast<ptrdiff_t>(compiles.size() * 95 / 100),
                                  compiles.end());
  printRow({kP95, quantile(compiles, 0.95), 20, "slowest " + slow.back().op + "; means above: " + phasesOf(slow)});
}

}  // namespace bench
