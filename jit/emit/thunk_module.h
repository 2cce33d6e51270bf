// From a plan to a module with one function, "thunk", of the operator's unboxed signature: the chain's functions
// brought in, the plan's constants put where the sources ask for them. No operator is known here by name.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

namespace shunt::jit {

inline constexpr const char* kThunkName = "thunk";

/// Builds it in `extraction`, not optimised. An error is a refusal.
/// Marks the inner chains that come into it.
llvm::Error buildThunk(Plan& plan, Extraction& extraction);

}  // namespace shunt::jit
