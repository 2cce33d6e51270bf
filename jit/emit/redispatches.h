// Which entries of an operator's table a thunk's code depends on: found after optimisation, and checked.
//
// Note [Edges of folded entries]
// Redispatches in a thunk look into a constant, the operator's state at the plan (planned_calls.h), and fold: nothing
// in the code shows any more which entries it was made of. A plan foresees the call's keys, but a kernel may redispatch
// with others.
//   - Each redispatch begins with a call of a function of the chain's that doesn't exist, with its keyset. The call has
//     an effect that nobody knows, so it stays as long as the redispatch can run. After the passes it is taken out, and
//     its keyset is one that the thunk relies on: whole, as also the keys that fall through say where the call leads.
//     Where that adds slots to the chain's, the module is built again with them.
//   - Only slots of the chain have their content in the constant. The others hold addresses that may be null or equal
//     for all that LLVM knows, so nothing that is compared with them folds. Where one is left in the optimised module,
//     some look-up was not followed, and the pair is refused. So what a thunk folds has an edge, whether the first step
//     is right or not.
// Each function works on its caller's module; any thread.
#pragma once

#include "jit/plan/plan.h"

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

#include <vector>

namespace shunt::jit {

/// A keyset that a redispatch of a chain's operator is called with.
struct Redispatch {
  uint64_t chain;  // its place: Plan::chain
  DispatchKeySet keys;
  bool known = true;  // false: `keys` is known at run time only
};

/// `planned`, an entry point of the chain's operator for redispatches, begins with the call that reports its keyset.
llvm::Error noteRedispatch(uint64_t chain, llvm::Function& planned);

/// Takes these calls out of the module.
std::vector<Redispatch> takeRedispatches(llvm::Module& module);

/// Why a pair with others is refused.
inline constexpr const char* kKeysUnknown = "a wrapper redispatches with keys that are known at run time only";

/// What stands in the constant for a field of a slot without an edge.
llvm::Constant* unreliedSlot(const Chain& chain, size_t slot, llvm::Module& module);

/// Of an optimised module: a slot without an edge that its code depends on, "" if there is none.
std::string usedWithoutEdge(llvm::Module& module);

}  // namespace shunt::jit
