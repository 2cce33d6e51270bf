// The differences from libtorch that stand, each with its reason, read from known_differences.txt once and then
// constant.
#pragma once

#include "tests/parity/compare.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace parity {

struct KnownDifference {
  std::string op, dtypes, what, message, reason;
  int line = 0;
  mutable std::map<std::string, int> hits;  // by the operator, or the code, that met it
};

class KnownDifferences {
 public:
  /// Throws when a line lacks a column or its reason.
  explicit KnownDifferences(const std::string& path);
  /// The line that covers it, or null; counts the hit. `dtype`: the cell's.
  /// `confirmed`: asked before a line whose reason begins with "float64:" covers anything.
  const KnownDifference* covers(const Case& c, const std::string& dtype, const Difference& d,
                                const std::function<bool()>& confirmed) const;
  /// The same of a program, whose code has to contain the first column.
  const KnownDifference* coversText(const std::string& code, const std::string& what, const std::string& detail) const;
  const std::vector<KnownDifference>& lines() const { return lines_; }

 private:
  std::vector<KnownDifference> lines_;
};

}  // namespace parity
