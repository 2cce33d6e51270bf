// The key of a plan, or of a fused loop, in the disk cache: all that its code depends on, as text, a line for each
// fact.
//
// Files are named after a hash of it, hold it whole, and are used only where it is equal byte for byte. Made before any
// IR.
//
// Note [What is in a key]
// The process: build ids of libshunt, which stands for the bitcode, and of libshunt_jit, which stands for LLVM, the
// passes and the options it was built with; the CPU's features; where libshunt's thread-local variables lie (their
// distances are in the code). The plan: operator, keyset, signature, the operands expected, every step with its symbol
// and its library's build id, the masks, and which places of the table hold the same address or none. Addresses are not
// in it: the code has none, but the names of PlanSymbols. Names that the host can't bind at the load are a reason to
// compile. A fused loop has no plan: its key has the whole of its description, with each step's loop as its symbol and
// its library's build id.
#pragma once

#include "jit/plan/plan.h"
#include "jit/plan/plan_symbols.h"

#include <shunt/jit/fused_loop.h>

#include <llvm/Support/Error.h>

#include <string>

namespace shunt::jit {

/// The process's part, with which every key begins; "" where a library has no build id. Constant.
const std::string& processKey();
/// Fails, and says why, for a plan that depends on what another process can't be asked about.
llvm::Expected<std::string> cacheKey(const Plan& plan, const PlanSymbols& symbols);
/// The same for a plan whose codeKey() is known.
llvm::Expected<std::string> cacheKey(const Plan& plan, const std::string& code_key);
/// The same for a fused loop.
llvm::Expected<std::string> cacheKey(const FusedLoopSpec& spec);
/// Of a plan, for this process alone, without the signature: code depends on what was recorded, which is in the key,
/// and on nothing else of the operands.
llvm::Expected<std::string> codeKey(const Plan& plan, const PlanSymbols& symbols);

/// What a key says after its process's part; "" where it has no such line.
std::string lineOf(const std::string& key, const std::string& name);

}  // namespace shunt::jit
