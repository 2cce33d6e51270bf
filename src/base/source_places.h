// Source lines of addresses in programs and libraries, as llvm-symbolizer or addr2line finds them in debug information.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shunt::detail {

struct CodeAddress {
  std::string object;  // path of the file
  uint64_t address = 0;
};

struct SourcePlace {
  std::string function, file;  // empty: unknown
  int line = 0;                // 0: unknown
};

/// For each address the function that stands there; before it those that were inlined into it, the innermost first.
/// Empty where nothing is known, and everywhere if no tool is found or it fails or takes longer than ten seconds. Any
/// thread. Runs child processes, and waits for them.
std::vector<std::vector<SourcePlace>> sourcePlaces(std::span<const CodeAddress> addresses);

/// What the tools print, taken apart. For tests.
SHUNT_API std::vector<std::vector<SourcePlace>> readSymbolizer(const std::string& printed);
SHUNT_API std::vector<std::vector<SourcePlace>> readAddr2line(const std::string& printed);

}  // namespace shunt::detail
