// Where the disk cache is: the functions of shunt/jit/cache.h that need no compiler, and those that ask it.
#include <shunt/jit/cache.h>

#include "src/tiering/compiler.h"

#include <shunt/core/fork.h>
#include <shunt/core/log.h>

#include <pwd.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <optional>

namespace shunt::jit {
namespace {

std::string homeDirectory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return "";
  return found->pw_dir != nullptr && *found->pw_dir == '/' ? found->pw_dir : "";
}

std::string fromEnvironment() {
  const char* value = std::getenv("SHUNT_JIT_CACHE");
  const std::string text = value != nullptr ? value : "";
  if (text.empty() || text == "off" || text == "0") return "";
  // A program with more rights than its caller: the environment, and the home it names, are the caller's.
  if (getauxval(AT_SECURE) != 0) return "";
  if (text.front() == '/') return text;
  if (text == "on" || text == "1") return default_cache_directory();
  shunt::detail::logWarning("SHUNT_JIT_CACHE=" + text +
                            " is none of on, off and an absolute path; there is no disk cache");
  return "";
}

struct Setting {
  std::mutex mutex;                      // level 3
  std::optional<std::string> directory;  // guarded by mutex; none until somebody sets it or asks
};

Setting& setting() {
  static Setting* const made = [] {
    auto* s = new Setting;  // never destroyed: the compiler's thread may ask at exit
    shunt::detail::holdAcrossFork(3, [] { setting().mutex.lock(); }, [] { setting().mutex.unlock(); });
    return s;
  }();
  return *made;
}
[[maybe_unused]] const Setting& made_at_load = setting();

}  // namespace

std::string default_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/shunt";
  const std::string home = homeDirectory();
  return home.empty() ? "" : home + "/.cache/shunt";
}

std::string cache_directory() {
  Setting& s = setting();
  {
    std::lock_guard lock(s.mutex);
    if (s.directory) return *s.directory;
  }
  std::string asked = fromEnvironment();  // without the lock: it may log
  std::lock_guard lock(s.mutex);
  if (!s.directory) s.directory = std::move(asked);
  return *s.directory;
}

void set_cache_directory(const std::string& directory) {
  SHUNT_CHECK(directory.empty() || directory.front() == '/', "set_cache_directory: expected an absolute path, got '",
              directory, "'");
  SHUNT_CHECK(directory.empty() || getauxval(AT_SECURE) == 0,
              "set_cache_directory: a program with more rights than its caller has no disk cache");
  Setting& s = setting();
  std::lock_guard lock(s.mutex);
  s.directory = directory;
}

std::vector<CacheEntry> cache_entries(const std::string& directory) {
  return Compiler::instance().cacheEntries(directory);
}

size_t cache_clear(const std::string& directory) { return Compiler::instance().clearCache(directory); }

}  // namespace shunt::jit
