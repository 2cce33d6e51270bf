// A row of the bars' table: what was measured, what it must reach, and the verdict. One thread.
#pragma once

#include "bench/verdict.h"

#include <functional>
#include <limits>
#include <string>

namespace bench {

inline constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::string what;
  double measured = 0;  // kNoFigure: not measured, and `note` says why
  double most = 0;
  std::string note;  // what the figure was made of
  /// Where the bar is measured with SHUNT_JIT_KEEP=1: the same with the default settings. Printed, not judged.
  double by_default = kNoFigure;
  Lack lack = Lack::kNothing;
};

/// The table's lines, without the newline.
std::string headerText();
std::string textOf(const Row& row);

void printHeader();
/// Prints and judges it.
void printRow(const Row& row);
/// The same for what `measure` gives. Where that misses its bar it is measured again, twice at most, and the last
/// figure counts: on a machine that does other work too, one bad figure says little.
void printRow(const std::function<Row()>& measure);
/// Remembered from the command line: rows whose name has this text are measured.
void setFilter(std::string text);
const std::string& filter();
bool wanted(const std::string& what);
/// How many of the printed rows count as missed: those that were not measured are among them.
int missed();

}  // namespace bench
