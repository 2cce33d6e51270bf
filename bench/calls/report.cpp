#include "bench/calls/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace bench {
namespace {

double median(std::vector<double> v) {
  if (v.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

void PairReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const std::string name = run.run_name.function_name;
    const size_t slash = name.find('/');
    const std::string side = name.substr(0, slash), key = name.substr(slash + 1);
    const auto [it, is_new] = rows_.try_emplace(key);
    if (is_new) it->second.place = run.family_index;
    const double nanoseconds = run.GetAdjustedRealTime() * (run.time_unit == benchmark::kMicrosecond ? 1e3 : 1.0);
    (side == "libtorch" ? it->second.theirs : it->second.mine).push_back(nanoseconds);
  }
}

std::vector<std::string> PairReporter::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, row] : rows_) out.push_back(key);
  std::sort(out.begin(), out.end(), [this](const std::string& a, const std::string& b) { return rows_.at(a).place < rows_.at(b).place; });
  return out;
}

void PairReporter::print() const {
  std::printf("%-34s %14s %14s %8s\n", "case", "shunt ns", "libtorch ns", "ratio");
  for (const std::string& key : keys()) {
    const Row& row = rows_.at(key);
    const double mine = median(row.mine), theirs = median(row.theirs);
    std::printf("%-34s %14.1f", key.c_str(), mine);
    if (std::isnan(theirs)) std::printf(" %14s %8s\n", "-", "-");
    else std::printf(" %14.1f %8.3f\n", theirs, mine / theirs);
  }
}

void PairReporter::write(const std::string& path) const {
  std::ofstream out(path);
  if (!out) throw std::runtime_error("cannot write " + path);
  for (const std::string& key : keys()) out << key << '\t' << median(rows_.at(key).mine) << '\t' << median(rows_.at(key).theirs) << '\n';
}

}  // namespace bench
