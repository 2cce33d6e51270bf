#include "bench/calls/report.h"

#include "bench/calls/bars.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>

namespace bench {
namespace {

double median(std::vector<double> v) {
  if (v.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Google Benchmark 1.8 has `skipped` in the place of `error_occurred`.
template <class Run>
bool hasFailed(const Run& run) {
  if constexpr (requires { run.error_occurred; })
    return run.error_occurred;
  else
    return static_cast<int>(run.skipped) != 0;
}

void printCell(double value, const char* format) {
  if (std::isnan(value))
    std::printf(" %14s", "-");
  else
    std::printf(format, value);
}

}  // namespace

void SideReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || hasFailed(run)) continue;
    const std::string name = run.run_name.function_name;
    const size_t slash = name.find('/');
    const std::string side = name.substr(0, slash), key = name.substr(slash + 1);
    const auto* const found = std::find(std::begin(kSideNames), std::end(kSideNames), side);
    if (found == std::end(kSideNames)) throw std::logic_error("no side " + side);
    const auto [it, is_new] = rows_.try_emplace(key);
    if (is_new) it->second.place = run.family_index;
    // CPU time: every case runs in one thread, and another program's share of the core is not its own.
    const double time = run.run_name.time_type == "manual_time" ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime();
    const double nanoseconds = time * (run.time_unit == benchmark::kMicrosecond ? 1e3 : 1.0);
    it->second.times[static_cast<size_t>(found - std::begin(kSideNames))].push_back(nanoseconds);
  }
}

std::vector<std::string> SideReporter::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, row] : rows_) out.push_back(key);
  std::sort(out.begin(), out.end(),
            [this](const std::string& a, const std::string& b) { return rows_.at(a).place < rows_.at(b).place; });
  return out;
}

double SideReporter::medianOf(const std::string& key, Side side) const {
  const auto it = rows_.find(key);
  return median(it == rows_.end() ? std::vector<double>{} : it->second.times[static_cast<size_t>(side)]);
}

void SideReporter::printCases() const {
  std::printf("%-46s %14s %14s %14s %14s %14s\n", "case, ns", "interpreted", "compiled", "libtorch", "interp./torch",
              "comp./torch");
  for (const std::string& key : keys()) {
    const double interpreted = medianOf(key, Side::kInterpreted), compiled = medianOf(key, Side::kCompiled);
    const double libtorch = medianOf(key, Side::kLibtorch);
    std::printf("%-46s", key.c_str());
    for (const double time : {interpreted, compiled, libtorch}) printCell(time, " %14.1f");
    for (const double time : {interpreted, compiled}) printCell(time / libtorch, " %14.3f");
    std::printf("\n");
  }
}

double SideReporter::figureOf(const Bar& bar) const {
  return medianOf(bar.key, bar.side) / (bar.against.empty() ? 1.0 : medianOf(bar.against, bar.against_side));
}

void SideReporter::forget(const std::string& key, Side side) { rows_.at(key).times[static_cast<size_t>(side)].clear(); }

std::string SideReporter::takeMissed() {
  std::set<std::pair<std::string, Side>> again;
  for (const Bar& bar : kBars) {
    if (verdictOf(bar, figureOf(bar)) != Verdict::kMissed) continue;
    again.emplace(bar.key, bar.side);
    if (!bar.against.empty()) again.emplace(bar.against, bar.against_side);
  }
  std::string out;
  for (const auto& [key, side] : again) {
    forget(key, side);
    out += (out.empty() ? "^(" : "|") + std::string(nameOf(side)) + "/" + key;
  }
  return out.empty() ? out : out + ")";
}

int SideReporter::printBars(bool all) const {
  int missed = 0;
  std::printf("\n%-46s %14s %14s\n", "bar (a ratio unless in ns)", "measured", "at most");
  for (const Bar& bar : kBars) {
    const double measured = figureOf(bar);
    if (!all && std::isnan(measured)) continue;
    std::printf("%-46s", bar.what.c_str());
    printCell(measured, " %14.3f");
    const Verdict verdict = verdictOf(bar, measured);
    std::printf(" %14.3f  %s\n", bar.most, textOf(verdict));
    missed += countsAsMissed(verdict);
  }
  return missed;
}

namespace {

/// "2026-11-21, Intel(R) Xeon(R) Processor (family 6, model 207)": figures say little without.
std::string whenAndWhere() {
  std::string name, family, model;
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(std::min(colon + 2, line.size()));
    if (line.starts_with("model name"))
      name = value;
    else if (line.starts_with("cpu family"))
      family = value;
    else if (line.starts_with("model\t"))
      model = value;
  }
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%F", std::gmtime(&now));
  return std::string(date) + ", " +
         (name.empty() ? "unknown CPU" : name + " (family " + family + ", model " + model + ")") +
         ", one thread, medians";
}

}  // namespace

void SideReporter::write(const std::string& path) const {
  std::ofstream out(path);
  if (!out) throw std::runtime_error("cannot write " + path);
  out << "# " << whenAndWhere() << '\n';
  for (const std::string& key : keys()) {
    out << key;
    for (const Side side : {Side::kInterpreted, Side::kCompiled, Side::kLibtorch}) out << '\t' << medianOf(key, side);
    out << '\n';
  }
}

}  // namespace bench
