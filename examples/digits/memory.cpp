#include "examples/digits/memory.h"

#include <fstream>
#include <stdexcept>
#include <string>

namespace digits {

double anonymousMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  throw std::runtime_error("no RssAnon in /proc/self/status");
}

}  // namespace digits
