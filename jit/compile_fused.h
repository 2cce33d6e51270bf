// A fused loop from its description to code in memory. One compile at a time (src/tiering/compiler.h).
#pragma once

#include "jit/bitcode/source_cache.h"

#include <shunt/jit/provider.h>

namespace shunt::jit {

/// Provider::compileFused, but for exceptions and LLVM's fatal errors.
void compileFused(const FusedLoopSpec& spec, SourceCache& sources, FusedResult& result);

}  // namespace shunt::jit
