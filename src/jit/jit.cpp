// The public functions of shunt/jit/jit.h.
#include <shunt/jit/jit.h>

#include "src/dispatch/thunk.h"
#include "src/jit/compiler.h"
#include "src/jit/pairs.h"
#include "src/jit/switches.h"

#include <cstdio>

namespace shunt::jit {

void setEnabledByCall(bool on);  // observe.cpp

void set_enabled(bool on) {
  setEnabledByCall(on);
  acceptThunks(on);
  if (!on) retireAll("jit::set_enabled(false)");
  Pairs::instance().reset();
  shunt::detail::tls_state.observe_countdown = 1;  // this thread sees it at its next call, others within 2^16
}

void wait_idle() { Compiler::instance().waitIdle(); }

void clear() {
  retireAll("jit::clear()");
  Pairs::instance().reset();
}

Stats stats() {
  Stats out;
  if (const Provider* provider = Compiler::instance().provider()) {
    out.available = true;
    out.code_bytes = provider->codeBytes();
  }
  Pairs::instance().fill(out);
  return out;
}

std::string statsTable() {
  const Stats s = stats();
  std::string out = shunt::detail::str("pairs compiled ", s.compiled, ", refused ", s.refused, ", failed ", s.failed,
                                       ", outdated ", s.outdated, "; code ", s.code_bytes, " bytes",
                                       s.available ? "" : "; the compiler was not loaded", "\n");
  char line[512];
  std::snprintf(line, sizeof line, "%-10s %10s %8s %7s %7s %7s %7s %7s  %s\n", "state", "interp.", "ms", "extract", "optim.", "gener.",
                "link", "bytes", "operator {keys} (arguments)");
  out += line;
  for (const PairStats& p : s.pairs) {
    const CompileTimes& t = p.times;
    std::snprintf(line, sizeof line, "%-10s %10llu %8.2f %7.2f %7.2f %7.2f %7.2f %7zu  ", toString(p.state),
                  static_cast<unsigned long long>(p.interpreted), t.total(), t.plan + t.extract, t.optimise, t.generate, t.link, p.bytes);
    out += line + shunt::detail::str(p.op, " {", p.keys, "} (", p.signature, ")", p.reason.empty() ? "" : ": " + p.reason, "\n");
  }
  return out;
}

std::vector<InvalidationRecord> invalidation_log() { return invalidationLog(); }

}  // namespace shunt::jit
