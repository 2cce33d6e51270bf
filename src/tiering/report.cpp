// SHUNT_STATS: at the end of the program the table goes to stderr, or the report to a file.
//
// Installed when the library is loaded, so that a program without one hot pair reports too, and so that it runs after
// the compiler's thread was joined (compiler.cpp installs its own handler later). A child of fork reports nothing: it
// would overwrite its parent's file.
#include "src/tiering/report.h"

#include "src/tiering/switches.h"

#include <shunt/core/environment.h>
#include <shunt/core/file_size_signal.h>
#include <shunt/core/log.h>
#include <shunt/jit/jit.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shunt::jit {
namespace {

pid_t reporter = 0;  // written at load only

/// SHUNT_STATS=name-%p.json: one file for each process.
const std::string& fileName() {
  static const auto& name = *new std::string([] {
    std::string n = switches().stats_file;
    if (const size_t at = n.find("%p"); at != std::string::npos) n.replace(at, 2, std::to_string(reporter));
    return n;
  }());
  return name;
}

bool writeTo(const std::string& name, const std::string& text) {
  std::ofstream file(name);
  file << text;
  file.close();
  return file.good();
}

/// A reader finds the old report or the new one. What is not a file (a terminal, a pipe), or is a link, as /dev/stdout
/// is, is written to as it is: a rename would remove it.
bool replaceFile(const std::string& name, const std::string& text) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(name, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return writeTo(name, text);
  const std::string next =
      name + "." + std::to_string(reporter) + ".next";  // other processes may write the same report
  if (writeTo(next, text)) {
    std::filesystem::rename(next, name, error);
    if (!error) return true;
  }
  std::filesystem::remove(next, error);
  return false;
}

void reportAtExit() {
  if (!switches().stats_file.empty()) return report::write();
  if (getpid() != reporter) return;
  const shunt::detail::NoFileSizeSignal guard;  // stderr may be a file
  std::fputs(statsTable().c_str(), stderr);
}

// Reads its own variable only: programs may still set the others before their first call.
[[maybe_unused]] const bool installed_at_load = [] {
  if (shunt::detail::environment::read(shunt::detail::environment::Variable::kStats).isFlag(false)) return false;
  reporter = getpid();
  return std::atexit(&reportAtExit) == 0;
}();

}  // namespace

bool report::wantedMeanwhile() { return reporter == getpid() && !switches().stats_file.empty(); }

void report::write() noexcept try {
  static bool failed = false;
  if (getpid() != reporter || failed) return;
  const shunt::detail::NoFileSizeSignal guard;  // a report that is too large is an error like a full disk
  if (replaceFile(fileName(), statsJson())) return;
  failed = true;
  shunt::detail::logWarning("SHUNT_STATS: can't write " + fileName());
} catch (const std::exception& e) {
  shunt::detail::logWarning(std::string("SHUNT_STATS: ") + e.what());
}

}  // namespace shunt::jit
