#include "bench/bars/row.h"

#include <cmath>
#include <cstdio>

namespace bench {
namespace {
std::string filter;
int missed_rows = 0;
}  // namespace

void setFilter(std::string text) { filter = std::move(text); }
bool wanted(const std::string& what) { return what.find(filter) != std::string::npos; }
int missed() { return missed_rows; }

void printHeader() { std::printf("%-62s %10s %8s\n", "bar of the compiler (a ratio unless in a unit)", "measured", "at most"); }

void printRow(const Row& row) {
  if (std::isnan(row.measured)) {
    std::printf("%-62s %10s %8.3f  not measured: %s\n", row.what.c_str(), "-", row.most, row.note.c_str());
  } else {
    const bool good = row.measured <= row.most;
    missed_rows += !good;
    const char* const verdict = good ? "ok" : "MISSED";
    std::printf("%-62s %10.3f %8.3f  %-6s  %s\n", row.what.c_str(), row.measured, row.most, verdict, row.note.c_str());
  }
  std::fflush(stdout);
}

}  // namespace bench
