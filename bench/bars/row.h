// A row of the bars' table: what was measured, and what it must reach.
#pragma once

#include <string>

namespace bench {

struct Row {
  std::string what;
  double measured = 0;  // NaN: not measured, and `note` says why
  double most = 0;
  std::string note;     // what the figure was made of
};

void printHeader();
void printRow(const Row& row);
/// Remembered from the command line: rows whose name has this text are measured.
void setFilter(std::string text);
bool wanted(const std::string& what);
/// How many rows were missed.
int missed();

}  // namespace bench
