#include <shunt/core/environment.h>

#include <shunt/core/log.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

// secure_getenv(3), here and wherever a SHUNT_* variable is read: a program that has more rights than its caller, as a
// set-user-ID one, must not let the caller's environment choose what it writes, loads or runs.
namespace shunt::detail {

bool flagFromEnvironment(const char* name, bool fallback) {
  const char* v = secure_getenv(name);
  if (v == nullptr || *v == 0) return fallback;
  if (std::strcmp(v, "0") == 0) return false;
  if (std::strcmp(v, "1") == 0) return true;
  logWarning(std::string(name) + "=" + v + " is neither 0 nor 1; " + (fallback ? "1" : "0") + " holds");
  return fallback;
}

int64_t numberFromEnvironment(const char* name, int64_t fallback, int64_t least, int64_t most) {
  const char* v = secure_getenv(name);
  if (v == nullptr || *v == 0) return fallback;
  int64_t n = 0;
  const char* end = v + std::strlen(v);
  const auto [stop, error] = std::from_chars(v, end, n);
  if (error == std::errc() && stop == end && n >= least && n <= most) return n;
  logWarning(std::string(name) + "=" + v + " is not a whole number from " + std::to_string(least) + " to " +
             std::to_string(most) + "; " + std::to_string(fallback) + " holds");
  return fallback;
}

std::string directoryFromEnvironment(const char* name) {
  const char* v = secure_getenv(name);
  if (v == nullptr || *v == 0) return {};
  std::error_code error;
  std::filesystem::create_directories(v, error);
  if (!error) return v;
  logWarning(std::string(name) + "=" + v + ": " + error.message() + "; nothing is written there");
  return {};
}

}  // namespace shunt::detail
