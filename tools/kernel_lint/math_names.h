// Which functions and intrinsics of floating-point arithmetic kernels may use. Constant tables, any thread.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Function.h>

namespace shunt::lint {

/// True for a function of libm (or of the compilers' replacements for it): `exp`, `expf`, `__expf_finite`, libmvec's.
/// LLVM folds and rewrites calls to these names at compile time with results of its own.
bool isMathFunction(llvm::StringRef symbol);

/// Among libm's names, those that an exactly rounding intrinsic becomes on a CPU without the instruction.
bool isExactMathFunction(llvm::StringRef symbol);

/// True for an intrinsic that computes with floating-point numbers and is not exactly rounding everywhere.
bool isInexactIntrinsic(const llvm::Function& intrinsic);

}  // namespace shunt::lint
