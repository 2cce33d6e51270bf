// What a compile took, phase by phase. Values.
#pragma once

#include <shunt/core/macros.h>

namespace shunt::jit {

/// CPU milliseconds, phase by phase.
struct CompileTimes {
  double plan = 0, cache = 0, extract = 0, optimise = 0, generate = 0, link = 0;  // CPU milliseconds
  /// The sum of all phases.
  double total() const { return plan + cache + extract + optimise + generate + link; }
};

/// The phases by name, in their order.
struct CompilePhase {
  const char* name;
  double CompileTimes::* ms;
};
/// All phases.
inline constexpr CompilePhase kCompilePhases[] = {
    {"plan", &CompileTimes::plan},         {"cache", &CompileTimes::cache},       {"extract", &CompileTimes::extract},
    {"optimise", &CompileTimes::optimise}, {"generate", &CompileTimes::generate}, {"link", &CompileTimes::link},
};

}  // namespace shunt::jit
