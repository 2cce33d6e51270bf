// Runs a program, and says what it used. One thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Environment variables; without a value: removed.
using Environment = std::vector<std::pair<std::string, std::optional<std::string>>>;

struct Used {
  double wall = 0, cpu = 0;  // seconds
};

/// From the start of the process to its end, its output thrown away. Throws where it can't be run, or fails.
Used runProcess(const std::vector<std::string>& command, const Environment& environment);

}  // namespace bench
