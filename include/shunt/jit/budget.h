// How much of a program's CPU time compiling may take: docs/jit.md, "The budget".
//
// Any thread may call. SHUNT_JIT_BUDGET gives the percentage at first use.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::jit {

/// How much of the CPU time that the process has used so far the compiler's thread may have used, LLVM's load included:
/// percent, from 0 (nothing is compiled by itself) to 100 (no bound). Throws for other values. SHUNT_JIT_SYNC and
/// SHUNT_JIT_KEEP lift it, and so does wait_idle() while somebody waits.
SHUNT_API void set_budget(double percent);
/// The percentage in force: 100 where it is lifted.
SHUNT_API double budget();

/// What compiling may cost, and has cost, in milliseconds of CPU time; of this process, not of its parent.
struct BudgetStats {
  double percent = 100;    // as budget()
  double process_ms = 0;   // used by the process so far
  double compiler_ms = 0;  // used under the budget: by the compiler's thread, LLVM's load included, and by recordings
  double lifted_ms = 0;    // and while the budget was lifted
  uint64_t waiting = 0;    // pairs and fused loops that are queued
};
/// The budget as it stands now.
SHUNT_API BudgetStats budget_stats();

}  // namespace shunt::jit
