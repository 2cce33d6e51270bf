#include "src/tiering/switches.h"

#include <shunt/core/environment.h>

#include <algorithm>

namespace shunt::jit {
namespace {

namespace environment = shunt::detail::environment;
using environment::Variable;

void readStats(Switches& out) {
  const environment::Value value = environment::read(Variable::kStats);
  out.stats = !value.isFlag(false);
  if (value.form == environment::Value::Form::kPath) out.stats_file = value.text;
}

/// Where calls aren't timed, nobody would see what stays hot; `both` has calls sampled nevertheless.
void readTier(Switches& out) {
  const environment::Value value = environment::read(Variable::kJitTier);
  const bool first = value.isWord("1"), one = first || value.isWord("2");
  out.recompile = !one && !out.sync && (value.isWord("both") || !out.keep);
  out.tier = first || out.recompile ? Tier::kFirst : Tier::kSecond;
}

}  // namespace

const Switches& switches() {
  static const auto& s = *new Switches([] {  // never destroyed: read at exit
    Switches out;
    out.enabled = environment::flag<Variable::kJit>();
    out.sync = environment::flag<Variable::kJitSync>();
    out.keep = environment::flag<Variable::kJitKeep>();
    out.threshold = environment::number<Variable::kJitThreshold>();
    out.budget = environment::number<Variable::kJitBudget>();
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
