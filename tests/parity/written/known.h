// The differences between Shunt and libtorch in the programs' logs that stand on purpose, each with its reason: read
// from known_differences.txt once, then constant but for the hits. For one thread.
#pragma once

#include <string>
#include <vector>

namespace parity::programs {

class KnownDifferences {
 public:
  /// Throws when a line lacks a column or its reason.
  explicit KnownDifferences(const std::string& path);
  /// Whether a line of the file covers what Shunt and libtorch logged.
  bool covers(const std::string& program, const std::string& shunt, const std::string& torch) const;
  /// The lines that nothing met.
  std::vector<std::string> idle() const;

 private:
  struct Line {
    std::string program, shunt, torch, where;
    mutable int hits = 0;
  };
  std::vector<Line> lines_;
};

}  // namespace parity::programs
