// What a compiled function costs before its code runs: its graph, plan and fused loops, compiled, and the loops out of
// the disk cache.
#include "bench/compile/rows.h"
#include "bench/thunks/interleave.h"
#include "bench/thunks/row.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr int kCallsToPlan = 4;   // records, plans, and runs the plan
constexpr int kCallsToHot = 600;  // beyond the threshold
constexpr int kCompiles = 5, kLoads = 20;

/// A disk cache of its own.
class TemporaryCache {
 public:
  TemporaryCache() {
    std::string name = (fs::temp_directory_path() / "shunt_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory for a disk cache");
    directory_ = name;
    shunt::jit::set_cache_directory(directory_);
  }
  ~TemporaryCache() {
    shunt::jit::set_cache_directory(before_);
    fs::remove_all(directory_);
  }
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;

 private:
  const std::string before_ = shunt::jit::cache_directory();
  std::string directory_;
};

struct Cost {
  double plan = 0, loops = 0;  // ms of CPU
  uint64_t compiled = 0, loaded = 0;
};

/// A new compiled function's, of so many calls.
Cost costOf(const CompileRow& row, int calls) {
  const shunt::jit::FusedStats before = shunt::jit::stats().fused;
  const auto fast = shunt::compile(row.function, {.record_after = 1});
  const auto time = [&](int n) {
    const int64_t begin = threadNanoseconds();
    for (int i = 0; i < n; ++i) fast(row.inputs);
    return static_cast<double>(threadNanoseconds() - begin) * 1e-6;
  };
  const double first = time(kCallsToPlan), rest = time(calls);
  shunt::jit::wait_idle();
  const shunt::jit::FusedStats after = shunt::jit::stats().fused;
  return {first - rest / calls * kCallsToPlan, after.times.total() - before.times.total(),
          after.compiled - before.compiled, after.loaded - before.loaded};
}

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ms);
  return text;
}

}  // namespace

void cacheBars(const std::vector<CompileRow>& rows) {
  const char *const compile = "compile of the digits step, ms CPU",
                    *const load = "load of the digits step's loops from the disk cache, ms CPU";
  if (!wanted(compile) && !wanted(load)) return;
  const auto row = std::find_if(rows.begin(), rows.end(), [](const CompileRow& r) { return r.name == kDigitsRow; });
  if (row == rows.end()) throw std::runtime_error(std::string("there is no row ") + kDigitsRow);
  std::vector<double> totals, plans, loops, loads;
  uint64_t compiled = 0;
  for (int i = 0; i < kCompiles; ++i) {
    const TemporaryCache cache;
    const Cost cost = costOf(*row, kCallsToHot);
    compiled = cost.compiled;
    totals.push_back(cost.plan + cost.loops);
    plans.push_back(cost.plan);
    loops.push_back(cost.loops);
    for (int k = 0; k < kLoads / kCompiles; ++k) {
      const Cost again = costOf(*row, kCallsToHot);
      if (again.compiled != 0 || again.loaded != compiled)
        throw std::runtime_error("of " + std::to_string(compiled) + " loops, only " + std::to_string(again.loaded) +
                                 " came from the cache");
      loads.push_back(again.loops);
    }
  }
  const std::string count = std::to_string(compiled) + " loops";
  printHeader();
  if (wanted(compile))
    printRow({compile, medianOf(totals), 150,
              "graph and plan " + milliseconds(medianOf(plans)) + ", " + count + " " + milliseconds(medianOf(loops))});
  if (wanted(load)) printRow({load, medianOf(loads), 1, count + ", median of " + std::to_string(loads.size())});
}

}  // namespace bench
