#include "src/compile/checks/dump.h"

#include <shunt/core/log.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shunt::compiled {
namespace {

/// Empty: nothing is dumped. Never destroyed: functions that are static objects dump in the end.
const std::string& dumpDirectory() {
  static const auto& path = *new std::string([] {
    const char* v = std::getenv("SHUNT_JIT_DUMP");
    std::error_code error;
    if (v != nullptr && *v != 0) std::filesystem::create_directories(v, error);
    if (error) detail::logWarning(detail::str("SHUNT_JIT_DUMP=", v, ": ", error.message(), ". Nothing is dumped"));
    return v == nullptr || error ? std::string() : std::string(v);
  }());
  return path;
}

}  // namespace

bool isDumpWanted() { return !dumpDirectory().empty(); }

std::string pathOfDump(const std::string& name) {
  static std::atomic<int> dumped{0};
  std::string file = name;
  for (char& c : file)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return detail::str(dumpDirectory(), "/compiled-", dumped++, '-', file);
}

void dumpTo(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out) detail::logWarning("SHUNT_JIT_DUMP: can't write " + file);
}

}  // namespace shunt::compiled
