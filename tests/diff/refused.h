// The written list of what is not compiled, and why: refused.txt.
#pragma once

#include <string>
#include <vector>

namespace diff {

class RefusedList {
 public:
  explicit RefusedList(const std::string& path);
  /// Whether a line covers the pair; counts it.
  bool covers(const std::string& op, const std::string& form, const std::string& reason);
  /// Lines for operators that `op` names, of which nothing was refused.
  std::vector<std::string> unused(const std::string& op) const;

 private:
  struct Line {
    std::string op, form, reason;
    int hits = 0;
  };
  std::vector<Line> lines_;
};

}  // namespace diff
