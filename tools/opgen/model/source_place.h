// Where in a YAML file a statement stands, and errors that say so. Values; single-threaded tool.
#pragma once

#include <string>

namespace opgen {

struct SourcePlace {
  std::string file;
  int line = 0;  // 1-based; 0 when unknown

  std::string str() const { return file + ":" + std::to_string(line); }
};

/// Throws shunt::Error "<file>:<line>: error: <message>".
[[noreturn]] void fail(const SourcePlace& place, const std::string& message);

}  // namespace opgen
