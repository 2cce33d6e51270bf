// Where the disk cache is: the functions of shunt/jit/cache.h that need no compiler, and those that ask it.
#include <shunt/jit/cache.h>

#include "src/tiering/cache_problem.h"
#include "src/tiering/compiler.h"

#include <shunt/core/environment.h>
#include <shunt/core/fork.h>
#include <shunt/core/log.h>
#include <shunt/jit/provider.h>

#include <pwd.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

namespace shunt::jit {
namespace {

namespace environment = shunt::detail::environment;

std::string homeDirectory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return "";
  return found->pw_dir != nullptr && *found->pw_dir == '/' ? found->pw_dir : "";
}

/// Whether what exists of the path is this user's: under sudo, HOME may be somebody else's, who could not remove what
/// is made there.
bool isOurs(const std::string& path) {
  for (std::filesystem::path at = path; at.has_relative_path(); at = at.parent_path()) {
    struct stat s;
    if (stat(at.c_str(), &s) == 0) return s.st_uid == geteuid();
  }
  return false;
}

/// What holds until a program says something else.
struct Choice {
  std::string directory;
  bool is_default = false;
};

Choice byDefault() {
  std::string directory = default_cache_directory();
  const std::string why = directory.empty()    ? "there is no home directory"
                          : !isOurs(directory) ? directory + " would not be in a directory of this user's"
                                               : "";
  if (!why.empty()) {
    shunt::detail::log(LogLevel::kInfo, "there is no disk cache of compiled code: " + why);
    directory.clear();
  }
  return {std::move(directory), true};
}

/// Makes the directory, and what leads to it, as the compiler does, and returns why there is none then.
std::string whyNotMade(const std::string& directory) {
  int error = 0;
  for (size_t at = 0; at != std::string::npos;) {
    at = directory.find('/', at + 1);
    if (mkdir(directory.substr(0, at).c_str(), 0700) == 0 || errno == EEXIST) continue;
    error = errno;
    break;
  }
  struct stat s;
  if (stat(directory.c_str(), &s) == 0) return S_ISDIR(s.st_mode) ? "" : std::strerror(ENOTDIR);
  return std::strerror(error != 0 ? error : errno);
}

/// The problem with a directory that SHUNT_JIT_CACHE names. It is found, and logged, when the library is loaded: most
/// programs end before they compile anything, and would never hear that nothing is kept.
struct Named {
  std::string directory, problem;
};

const Named& unusable() {
  static const auto& found = *new Named([]() -> Named {
    if (getauxval(AT_SECURE) != 0 || !environment::flag<environment::Variable::kJit>()) return {};
    std::string ignored;  // a value that isn't accepted is reported when it is used
    const environment::Value value = environment::read(environment::Variable::kJitCache, ignored);
    if (!value.is_set || value.form != environment::Value::Form::kPath) return {};
    const std::string why = whyNotMade(value.text);
    if (why.empty()) return {};
    shunt::detail::logWarning("SHUNT_JIT_CACHE=" + value.text + ": " + why +
                              "; there is no disk cache of compiled code");
    return {value.text, why};
  }());
  return found;
}
[[maybe_unused]] const Named& looked_at_load = unusable();

Choice fromEnvironment() {
  // A program with more rights than its caller: the environment, and the home it names, are the caller's.
  if (getauxval(AT_SECURE) != 0) return {};
  const environment::Value value = environment::read(environment::Variable::kJitCache);
  if (!value.is_set) return byDefault();
  if (value.form == environment::Value::Form::kPath) return {value.text != unusable().directory ? value.text : ""};
  return value.on ? Choice{default_cache_directory()} : Choice{};
}

struct Setting {
  std::mutex mutex;              // level 3
  std::optional<Choice> choice;  // guarded by mutex; none until somebody sets it or asks
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

Choice choice() {
  Setting& s = setting();
  {
    std::lock_guard lock(s.mutex);
    if (s.choice) return *s.choice;
  }
  Choice asked = fromEnvironment();  // without the lock: it may log
  std::lock_guard lock(s.mutex);
  if (!s.choice) s.choice = std::move(asked);
  return *s.choice;
}

}  // namespace

std::string default_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/shunt";
  const std::string home = homeDirectory();
  return home.empty() ? "" : home + "/.cache/shunt";
}

std::string cache_directory() { return choice().directory; }

std::string cacheProblem() {
  const std::string& problem = unusable().problem;
  return problem.empty() ? "" : "SHUNT_JIT_CACHE=" + unusable().directory + ": " + problem;
}

bool cache_is_default() { return choice().is_default; }

uint64_t cache_limit() {
  static const int64_t mebibytes = environment::number<environment::Variable::kJitCacheMb>();
  return static_cast<uint64_t>(mebibytes) << 20;
}

void set_cache_directory(const std::string& directory) {
  SHUNT_CHECK(directory.empty() || directory.front() == '/', "set_cache_directory: expected an absolute path, got '",
              directory, "'");
  SHUNT_CHECK(directory.empty() || getauxval(AT_SECURE) == 0,
              "set_cache_directory: a program with more rights than its caller has no disk cache");
  Setting& s = setting();
  std::lock_guard lock(s.mutex);
  s.choice = Choice{directory};
}

std::vector<CacheEntry> cache_entries(const std::string& directory) {
  return Compiler::instance().cacheEntries(directory);
}

size_t cache_clear(const std::string& directory) { return Compiler::instance().clearCache(directory); }

}  // namespace shunt::jit
