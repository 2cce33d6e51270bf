// From a region of pointwise steps to a module with one function, its fused loop.
//
// Each step's generic loop comes out of its library's bitcode and is called for one element, with dtypes and strides as
// constants and results in stack slots: after inlining, a slot is a register and a step its scalar body. So a result is
// stored to its dtype and loaded from it as between two operators, and the bits are theirs. One loop goes around all.
// Works on its caller's extraction.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/bitcode/libraries.h"

#include <shunt/jit/fused_loop.h>

namespace shunt::jit {

inline constexpr llvm::StringLiteral kFusedName = "shunt_fused";

/// Adds the function kFusedName, a FusedLoopFn, or says why the region has none. `libraries`: those whose bitcode the
/// extraction has beside libshunt's.
llvm::Error buildFusedLoop(const FusedLoopSpec& spec, Extraction& extraction, const Libraries& libraries = {});

}  // namespace shunt::jit
