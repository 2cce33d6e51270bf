// A table of medians, Shunt beside libtorch, from Google Benchmark's runs.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace bench {

/// Collects every repetition's time; `print` writes one row per case, both libraries and their ratio.
class PairReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  void print() const;
  /// Tab-separated: case, Shunt ns, libtorch ns (or NaN), for bench/plot.
  void write(const std::string& path) const;

 private:
  struct Row {
    int64_t place = 0;  // order of registration; runs come interleaved
    std::vector<double> mine, theirs;
  };
  /// Keys in order of registration.
  std::vector<std::string> keys() const;
  std::map<std::string, Row> rows_;
};

}  // namespace bench
