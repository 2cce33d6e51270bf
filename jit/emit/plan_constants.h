// The operands that a thunk's loop expects (kernels/pointwise/expected.h), as constants in its module.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

/// Puts the expecting forms in the place of the interpreter's entries, for each kind of operands that was recorded:
/// where one's guard turns a call's operands away, the next one's is asked, and behind the last one the interpreter.
llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction);

/// Whether the call leads to the interpreter's entry from the last expecting form: its operands are of no expected
/// kind.
bool isGuardMiss(const llvm::CallBase& call);

}  // namespace shunt::jit
