#include "src/jit/switches.h"

#include <shunt/core/log.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace shunt::jit {
namespace {

bool flag(const char* name, bool fallback) {
  const char* v = std::getenv(name);
  if (v == nullptr || *v == 0) return fallback;
  if (std::strcmp(v, "0") == 0) return false;
  if (std::strcmp(v, "1") == 0) return true;
  shunt::detail::logWarning(std::string(name) + "=" + v + " is neither 0 nor 1; " + (fallback ? "1" : "0") + " holds");
  return fallback;
}

int64_t number(const char* name, int64_t fallback, int64_t least, int64_t most) {
  const char* v = std::getenv(name);
  if (v == nullptr || *v == 0) return fallback;
  int64_t n = 0;
  const char* end = v + std::strlen(v);
  const auto [stop, error] = std::from_chars(v, end, n);
  if (error == std::errc() && stop == end && n >= least && n <= most) return n;
  shunt::detail::logWarning(std::string(name) + "=" + v + " is not a number from " + std::to_string(least) + " to " +
                            std::to_string(most) + "; " + std::to_string(fallback) + " holds");
  return fallback;
}

}  // namespace

const Switches& switches() {
  static const Switches s = [] {
    Switches out;
    out.enabled = flag("SHUNT_JIT", true);
    out.sync = flag("SHUNT_JIT_SYNC", false);
    out.stats_at_exit = flag("SHUNT_STATS", false);
    out.threshold = number("SHUNT_JIT_THRESHOLD", 512, 1, 1 << 30);
    if (out.sync || out.threshold <= out.period) out.period = 1;
    return out;
  }();
  return s;
}

}  // namespace shunt::jit
