#include "bench/thunks/row.h"

#include <cmath>
#include <cstdio>

namespace bench {
namespace {

std::string filter_text;
int missed_rows = 0;

std::string cell(double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

Verdict verdictOf(const Row& row) { return judge(row.measured, row.most, row.lack); }

std::string line(const std::string& what, const std::string& measured, const std::string& by_default,
                 const std::string& most) {
  char text[160];
  std::snprintf(text, sizeof text, "%-62s %10s %10s %8s", what.c_str(), measured.c_str(), by_default.c_str(),
                most.c_str());
  return text;
}

}  // namespace

void setFilter(std::string text) { filter_text = std::move(text); }
const std::string& filter() { return filter_text; }
bool wanted(const std::string& what) { return what.find(filter_text) != std::string::npos; }
int missed() { return missed_rows; }

std::string headerText() {
  return line("bar of the compiler (a ratio unless in a unit)", "measured", "by default", "at most");
}

std::string textOf(const Row& row) {
  const Verdict verdict = verdictOf(row);
  const bool has_figure = verdict == Verdict::kHeld || verdict == Verdict::kMissed;
  std::string text = line(row.what, has_figure ? cell(row.measured) : "-", cell(row.by_default), cell(row.most));
  text += std::string("  ") + textOf(verdict);
  if (verdict == Verdict::kHeld) text += "    ";  // notes below each other
  if (!row.note.empty()) text += (has_figure ? "  " : ": ") + row.note;
  return text;
}

void printHeader() { std::printf("%s\n", headerText().c_str()); }

void printRow(const Row& row) {
  missed_rows += countsAsMissed(verdictOf(row));
  std::printf("%s\n", textOf(row).c_str());
  std::fflush(stdout);
}

void printRow(const std::function<Row()>& measure) {
  constexpr int kMostRetries = 2;
  Row row = measure();
  int retries = 0;
  for (; retries < kMostRetries && verdictOf(row) == Verdict::kMissed; ++retries) row = measure();
  if (retries > 0)
    row.note += (row.note.empty() ? "" : "; ") + std::string("measured ") + std::to_string(retries + 1) + " times";
  printRow(row);
}

}  // namespace bench
