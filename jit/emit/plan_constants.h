// The plan's constants in the module: the operator's table, from which redispatches fold, and the operands that its
// elementwise loop expects (kernels/elementwise/expected.h).
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

/// Redispatches of the plan's operator look into a constant, `name`: an OpState's bytes whose kernels are the module's
/// functions where these are inlined.
llvm::Error putPlannedRedispatch(const Plan& plan, Extraction& extraction, llvm::StringRef name);

/// Puts the expecting forms in the place of the interpreter's elementwise entries, for the operands that were recorded.
llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction);

/// Whether the call leads to the interpreter's entry from the expecting form: its operands are not the expected ones.
bool isGuardMiss(const llvm::CallBase& call);

}  // namespace shunt::jit
