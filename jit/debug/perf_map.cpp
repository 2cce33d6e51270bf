#include "jit/debug/perf_map.h"

#include "jit/host/debug_switches.h"

#include <shunt/core/error.h>
#include <shunt/core/log.h>

#include <llvm/ADT/StringExtras.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>

namespace shunt::jit {
namespace {

class PerfMap {
 public:
  void write(const std::string& lines) {
    std::lock_guard lock(mutex_);
    if (!open()) return;
    if (::write(file_, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size())) return;
    fail("can't write");
  }

 private:
  /// Its own file, and no link that somebody has put there: the folder is everybody's.
  bool open() {
    if (failed_ || file_ >= 0) return !failed_;
    path_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    unlink(path_.c_str());  // of a process that had this number before
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) fail("can't make");
    return !failed_;
  }
  void fail(const char* what) {
    failed_ = true;
    shunt::detail::logWarning(
        shunt::detail::str("SHUNT_JIT_PERF: ", what, " ", path_, ": ", std::strerror(errno), "; perf gets no names"));
  }

  std::mutex mutex_;
  std::string path_;
  int file_ = -1;  // all guarded by mutex_
  bool failed_ = false;
};

}  // namespace

void addToPerfMap(const LinkedCode& code, llvm::StringRef name) {
  if (!perfWanted()) return;
  static PerfMap& map = *new PerfMap;  // never destroyed
  std::string lines;
  for (const LinkedCode::Function& f : code.functions())
    lines += llvm::utohexstr(f.address, true) + " " + llvm::utohexstr(f.size, true) + " " + name.str() +
             (f.name == name ? "" : "/" + f.name) + "\n";
  map.write(lines);
}

}  // namespace shunt::jit
