#include "src/tiering/switches.h"

#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace shunt::jit {
namespace {

using shunt::detail::flagFromEnvironment;
using shunt::detail::numberFromEnvironment;

void readStats(Switches& out) {
  const char* v = secure_getenv("SHUNT_STATS");
  const std::string_view text = v != nullptr ? v : "";
  out.stats = !text.empty() && text != "0";
  if (out.stats && text != "1") out.stats_file = text;
}

/// Where calls aren't timed, nobody would see what stays hot; `both` has calls sampled nevertheless.
void readTier(Switches& out) {
  const char* v = secure_getenv("SHUNT_JIT_TIER");
  const std::string_view text = v != nullptr ? v : "auto";
  const bool one = text == "1" || text == "2", both = text == "both";
  if (text != "auto" && !one && !both && !text.empty())
    shunt::detail::logWarning("SHUNT_JIT_TIER=" + std::string(text) + " is not auto, 1, 2 or both; using auto");
  out.recompile = !one && !out.sync && (both || !out.keep);
  out.tier = text == "1" || out.recompile ? Tier::kFirst : Tier::kSecond;
}

}  // namespace

const Switches& switches() {
  static const auto& s = *new Switches([] {  // never destroyed: read at exit
    Switches out;
    out.enabled = flagFromEnvironment("SHUNT_JIT", true);
    out.sync = flagFromEnvironment("SHUNT_JIT_SYNC", false);
    out.keep = flagFromEnvironment("SHUNT_JIT_KEEP", false);
    out.threshold = numberFromEnvironment("SHUNT_JIT_THRESHOLD", 512, 1, 1 << 30);
    out.budget = numberFromEnvironment("SHUNT_JIT_BUDGET", 3, 0, 100);
    readTier(out);
    readStats(out);
    out.period = out.sync || out.threshold <= 16
                     ? 1
                     : std::clamp(out.threshold / 4, Switches::kLeastPeriod, Switches::kMostPeriod);
    out.miss_period = out.period == 1 ? 1 : std::clamp<int64_t>(out.threshold / 16, 1, Switches::kMostMissPeriod);
    return out;
  }());
  return s;
}

}  // namespace shunt::jit
