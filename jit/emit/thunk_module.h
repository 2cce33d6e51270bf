// From a plan to a module with one function, "thunk", of the operator's unboxed signature: the chain's functions
// brought in, the plan's constants put where the sources ask for them. No operator is known here by name.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

namespace shunt::jit {

inline constexpr const char* kThunkName = "thunk";

/// Builds it in `extraction`, not optimised, with the content of the slots in `reliance`; and tells which chains are in
/// it. An error is a refusal.
llvm::Expected<Reliance> buildThunk(const Plan& plan, Reliance reliance, Extraction& extraction);

}  // namespace shunt::jit
