// The process's memory, before and after.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

inline constexpr double kKiB = 1024, kMiB = 1024 * 1024;

struct Usage {
  double anonymous = 0;  // bytes
  double in_use = 0;     // of the heap, and of code
  size_t mappings = 0;
};
Usage usageNow();

/// Two rows: at most 1 MiB more of anonymous memory, and no mapping more.
void printGrowth(const char* what, const char* what_of_mappings, const Usage& before, const std::string& note);

}  // namespace bench
