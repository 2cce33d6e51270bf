// The budget of the compiler: how much of a program's CPU time compiling may take (docs/jit.md, "The budget").
//
// Any thread may call. SHUNT_JIT_BUDGET gives the percentage at first use.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::jit {

/// Sets how much of the CPU time that the process has used so far the compiler's thread may use, including the load of
/// LLVM. In percent, from 0 (nothing is compiled unless the program asks for it) to 100 (no limit); throws for other
/// values. SHUNT_JIT_SYNC and SHUNT_JIT_KEEP lift the budget, and so does wait_idle() while it waits.
SHUNT_API void set_budget(double percent);
/// The percentage in force; 100 while the budget is lifted.
SHUNT_API double budget();

/// The budget and the CPU milliseconds used so far, by this process without its parent.
struct BudgetStats {
  double percent = 100;    // as budget()
  double process_ms = 0;   // used by the process
  double compiler_ms = 0;  // used under the budget, by the compiler's thread (with LLVM's load) and by recordings
  double lifted_ms = 0;    // used while the budget was lifted
  uint64_t waiting = 0;    // pairs and fused loops in the queue
};
/// The figures of this moment.
SHUNT_API BudgetStats budget_stats();

}  // namespace shunt::jit
