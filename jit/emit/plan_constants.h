// The operands that a thunk's loop expects (kernels/pointwise/expected.h), as constants in its module.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

/// Puts the expecting forms in the place of the interpreter's elementwise entries, for the operands that were recorded.
llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction);

/// Whether the call leads to the interpreter's entry from the expecting form: its operands are not the expected ones.
bool isGuardMiss(const llvm::CallBase& call);

}  // namespace shunt::jit
