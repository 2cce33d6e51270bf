// CompileTimes: the CPU time of a compile by phase. Values; any thread.
#pragma once

#include <shunt/core/macros.h>

namespace shunt::jit {

/// CPU milliseconds by phase.
struct CompileTimes {
  double plan = 0, cache = 0, extract = 0, optimise = 0, generate = 0, link = 0;
  /// The sum of all phases.
  double total() const { return plan + cache + extract + optimise + generate + link; }
};

/// A phase by name, for code that prints times.
struct CompilePhase {
  const char* name;
  double CompileTimes::* ms;
};
/// All phases, in the order in which they run.
inline constexpr CompilePhase kCompilePhases[] = {
    {"plan", &CompileTimes::plan},         {"cache", &CompileTimes::cache},       {"extract", &CompileTimes::extract},
    {"optimise", &CompileTimes::optimise}, {"generate", &CompileTimes::generate}, {"link", &CompileTimes::link},
};

}  // namespace shunt::jit
