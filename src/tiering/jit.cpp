// The public functions of shunt/jit/jit.h.
#include <shunt/jit/jit.h>

#include "src/dispatch/thunk.h"
#include "src/tiering/compiler.h"
#include "src/tiering/function_tally.h"
#include "src/tiering/fused_loops.h"
#include "src/tiering/pairs.h"

namespace shunt::jit {

void setEnabledByCall(bool on);  // observe.cpp

void set_enabled(bool on) {
  setEnabledByCall(on);
  acceptThunks(on);
  if (!on) {
    retireAll("jit::set_enabled(false)");
    FusedLoops::instance().withdrawAll();
  }
  Pairs::instance().reset();
  shunt::detail::tls_state.observe_countdown = 1;  // this thread sees it at its next call, others within 2^16
}

void set_budget(double percent) {
  SHUNT_CHECK(percent >= 0 && percent <= 100, "set_budget: expected a percentage from 0 to 100, got ", percent);
  Compiler::instance().setBudget(percent);
}

double budget() { return Compiler::instance().budget(); }

BudgetStats budget_stats() { return Compiler::instance().budgetStats(); }

void wait_idle() { Compiler::instance().waitIdle(); }

void clear() {
  retireAll("jit::clear()");
  FusedLoops::instance().withdrawAll();
  Pairs::instance().reset();
}

Stats stats() {
  Stats out;
  if (const Provider* provider = Compiler::instance().provider()) {
    out.available = true;
    out.code_bytes = provider->codeBytes();
  }
  Pairs::instance().fill(out);
  // So that a table or a report says it, too.
  if (const std::string why = Compiler::instance().whyWaiting(); !why.empty())
    for (PairStats& p : out.pairs)
      if (p.state == PairState::kQueued) p.reason = "waits for the compiler" + why;
  out.fused = FusedLoops::instance().stats();
  out.compiled_functions = statsOfFunctions();
  return out;
}

std::vector<InvalidationRecord> invalidation_log() { return invalidationLog(); }

}  // namespace shunt::jit
