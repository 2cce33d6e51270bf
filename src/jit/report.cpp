// SHUNT_STATS: at the end of the program the table goes to stderr, or the report to a file.
//
// Installed when the library is loaded, so that a program without one hot pair reports too, and so that it runs after the
// compiler's thread was joined (compiler.cpp installs its own handler later). A child of fork reports nothing: it would
// overwrite its parent's file.
#include "src/jit/switches.h"

#include <shunt/core/log.h>
#include <shunt/jit/jit.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace shunt::jit {
namespace {

pid_t reporter = 0;

/// SHUNT_STATS=name-%p.json: one file for each process.
std::string withProcess(std::string name) {
  if (const size_t at = name.find("%p"); at != std::string::npos) name.replace(at, 2, std::to_string(reporter));
  return name;
}

void reportAtExit() {
  if (getpid() != reporter) return;
  if (switches().stats_file.empty()) {
    std::fputs(statsTable().c_str(), stderr);
    return;
  }
  const std::string name = withProcess(switches().stats_file);
  std::ofstream file(name);
  file << statsJson();
  file.close();
  if (!file) shunt::detail::logWarning("SHUNT_STATS: can't write " + name);
}

// Reads its own variable only: programs may still set the others before their first call.
[[maybe_unused]] const bool installed_at_load = [] {
  const char* v = std::getenv("SHUNT_STATS");
  if (v == nullptr || *v == 0 || std::strcmp(v, "0") == 0) return false;
  reporter = getpid();
  return std::atexit([] {
    try {
      reportAtExit();
    } catch (const std::exception& e) {
      shunt::detail::logWarning(std::string("SHUNT_STATS: ") + e.what());
    }
  }) == 0;
}();

}  // namespace
}  // namespace shunt::jit
