// What is known of calls inside a thunk: where a wrapper's redispatch leads, and which chain an operator that a
// composite's kernel calls runs through. Each works on its caller's module; any thread.
//
// Note [Inlined operators]
// An operator that the recorded call called comes into the thunk, as its chain for the keys that it was called with, in
// the place of its entry point (callPlanned in core/op_state.h). There it stays a call of its own: with a frame, with
// keys computed from its arguments and the thread's modes, and only if the thunk is still valid; otherwise it goes on
// as any other call. So the thunk has edges on the inlined chain's entries, and what changes one of them ends its
// validity. An operator whose own thunk has a loop to specialise is not inlined: its call finds that thunk.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/emit/redispatches.h"
#include "jit/plan/plan.h"
#include "jit/plan/plan_symbols.h"

#include <llvm/ADT/SmallPtrSet.h>

namespace shunt::jit {

/// The global that tells a thunk of its own validity: bound to the thunk's when it is linked.
inline constexpr llvm::StringLiteral kValidityName = "shunt.validity";

/// Functions of a module.
using Functions = llvm::SmallPtrSet<const llvm::Function*, 32>;

/// The roles of entry points (Note [Annotated functions], shunt/core/annotate.h), for a test that operators have them.
std::vector<std::string> entryPointRoles();

/// Redispatches of the operator of the plan's chain at this place look into what putPlans will put there, and are
/// noted. Not those in `others`, which are not of the chain: outside of a call of its operator a redispatch is a call
/// of its own, with the table of now.
llvm::Error putPlannedRedispatch(const Plan& plan, uint64_t place, Extraction& extraction, const Functions& others);

/// Whether some function of the module calls the chain's operator; its calls are then callPlanned's.
llvm::Expected<bool> putPlannedCall(const Chain& chain, Extraction& extraction);

/// An operator that is called at several places, of which a call takes few, stays one function of the module. After all
/// that is imported for chains.
void sharePlannedCalls(const Plan& plan, const Reliance& reliance, llvm::Module& module);

/// The constants of the plan and of its inlined chains: operator states whose kernels are the module's functions where
/// these are inlined, keysets, the validity. After everything is imported.
void putPlans(const Plan& plan, const Reliance& reliance, Extraction& extraction);

/// Where the thunk counts its misses. After everything is imported.
void putMissCount(const Plan& plan, llvm::Module& module);

/// After optimisation: what was to be folded away and is not, or was without an edge; empty if nothing.
std::string unfolded(llvm::Module& module);

/// Calls of `from` become calls of `to`, but for those in `to` and in `others`.
void redirectCalls(llvm::Function& from, llvm::Function& to, const Functions& others = {});

}  // namespace shunt::jit
