#include "src/compile/checks/dump.h"

#include <shunt/core/environment.h>
#include <shunt/core/error.h>
#include <shunt/core/log.h>

#include <atomic>
#include <cctype>
#include <fstream>

namespace shunt::compiled {
namespace {

/// Empty: nothing is dumped. Never destroyed: functions that are static objects dump in the end.
const std::string& dumpDirectory() {
  static const auto& path = *new std::string(detail::environment::directory<detail::environment::Variable::kJitDump>());
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
