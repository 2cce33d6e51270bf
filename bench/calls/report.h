// A table of medians, Shunt interpreted and compiled beside libtorch, from Google Benchmark's runs; and the bars.
#pragma once

#include "bench/calls/bars.h"
#include "bench/calls/sides.h"

#include <benchmark/benchmark.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace bench {

/// Collects every repetition's time.
class SideReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  /// One row per case: the sides and their ratios.
  void printCases() const;
  /// One row per bar; without `all`, for those that have a figure. Returns how many count as missed.
  int printBars(bool all) const;
  /// The benchmarks whose figures miss a bar, with those that they are compared with, as --benchmark_filter takes them;
  /// empty: none. Their figures are forgotten.
  std::string takeMissed();
  /// For bench/plot: after a line "# date, CPU", tab-separated: case, interpreted ns, compiled ns, libtorch ns (NaN
  /// where there is none).
  void write(const std::string& path) const;

 private:
  struct Row {
    int64_t place = 0;                         // order of registration; runs come interleaved
    std::array<std::vector<double>, 3> times;  // by Side
  };
  /// Keys in order of registration.
  std::vector<std::string> keys() const;
  /// Nanoseconds; NaN when the case did not run.
  double medianOf(const std::string& key, Side side) const;
  /// NaN where a case did not run.
  double figureOf(const Bar& bar) const;
  void forget(const std::string& key, Side side);
  std::map<std::string, Row> rows_;
};

}  // namespace bench
