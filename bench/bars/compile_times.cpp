// CPU time of compiles, over all pairs of the digits run and of the test that compares every operator's calls in
// thunks.
#include "bench/bars/command.h"
#include "bench/bars/parts.h"
#include "bench/bars/row.h"

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

/// Pairs that a program compiled, from its report.
std::vector<jit::PairStats> compiledBy(const fs::path& program, const std::string& arguments,
                                       const std::string& settings) {
  const fs::path report = fs::temp_directory_path() / ("shunt-bars-" + std::to_string(getpid()) + ".json");
  const std::string command = "SHUNT_JIT_CACHE=off SHUNT_STATS='" + report.string() + "' " + settings + " '" +
                              program.string() + "' " + arguments + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(report).rdbuf();
  fs::remove(report);
  // 1 is the program's own verdict on what it computed, which is not what is measured here.
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) throw std::runtime_error("failed: " + command);
  std::vector<jit::PairStats> out;
  for (jit::PairStats& p : jit::statsFromJson(text.str()).pairs)
    if (p.compiles != 0) out.push_back(std::move(p));
  return out;
}

double quantile(const std::vector<jit::PairStats>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))].times.total();
}

std::string phasesOf(const std::vector<jit::PairStats>& pairs) {
  std::string out;
  for (const jit::CompilePhase& phase : jit::kCompilePhases) {
    double sum = 0;
    for (const jit::PairStats& p : pairs) sum += p.times.*phase.ms;
    char text[64];
    std::snprintf(text, sizeof text, "%s%s %.2f", out.empty() ? "" : ", ", phase.name,
                  sum / static_cast<double>(pairs.size()));
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
  std::vector<jit::PairStats> pairs;
  std::string missing;
  const auto take = [&](const char* name, const char* arguments, const char* settings) {
    if (!fs::exists(folder / name)) {
      missing += std::string("; ") + name + " is not built";
      return;
    }
    for (jit::PairStats& p : compiledBy(folder / name, arguments, settings)) pairs.push_back(std::move(p));
  };
  take("digits", "--epochs 1", "SHUNT_JIT_THRESHOLD=16");
  take("diff_test", "--cases 2", "SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1");
  // The bars are about the pairs of both.
  if (pairs.empty() || !missing.empty()) {
    for (const auto& [what, most] : {std::pair{kMedian, 12.0}, {kP95, 20.0}})
      printRow({what, kNoFigure, most, missing.empty() ? "nothing was compiled" : missing.substr(2)});
    return;
  }
  std::ranges::sort(pairs, {}, [](const jit::PairStats& p) { return p.times.total(); });
  const std::string of = std::to_string(pairs.size()) + " pairs";
  printRow({kMedian, quantile(pairs, 0.5), 12, of + "; means: " + phasesOf(pairs)});
  const std::vector<jit::PairStats> slow(pairs.begin() + static_cast<ptrdiff_t>(pairs.size() * 95 / 100), pairs.end());
  printRow({kP95, quantile(pairs, 0.95), 20, "slowest " + slow.back().op + "; means above: " + phasesOf(slow)});
}

}  // namespace bench
