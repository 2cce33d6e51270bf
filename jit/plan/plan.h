// Plan: the chain of kernels that a hot pair runs through, with a verdict on each; and what a thunk of it relies on.
//
// Made from a snapshot of the operator's table; a value, used by one thread, and constant from then on: what building a
// thunk finds out is a Reliance. The chain is a prediction: a wrapper is taken to redispatch with every key strictly
// below its own. A wrapper that does otherwise still works, since what it asks the table is answered from the same
// snapshot.
#pragma once

#include "jit/bitcode/libraries.h"
#include "src/dispatch/thunk.h"

#include <shunt/jit/provider.h>

#include <bitset>
#include <string>
#include <vector>

namespace shunt::jit {

enum class StepVerdict : uint8_t { kInline, kCall, kRefuse };

struct Step {
  DispatchKey key;
  DispatchKeySet keys;  // with which it is called
  TableEntry entry;
  std::string symbol;  // of entry.unboxed; empty where the host has none
  StepVerdict verdict = StepVerdict::kRefuse;
  std::string why;
};

/// The kernels that a call of one operator with these keys runs through, from the top.
struct Chain {
  OpSnapshot op;
  DispatchKeySet keys;
  std::vector<Step> steps;
  /// The last step redispatches with keys that can't be foretold (BackendSelect): through the host's table.
  bool open = false;

  /// Of the operator as it is registered now; `refusal` says why it can't be inlined.
  static Chain walk(const Operator& op, DispatchKeySet keys, const Libraries& libraries, std::string& refusal);
};

/// What a thunk has of one of its plan's chains.
struct ChainUse {
  bool used = false;  // it is in the thunk, by the edges too
  /// The slots that the thunk gets edges on. Only these have their content in the thunk's constants
  /// (jit/emit/redispatches.h).
  std::bitset<kNumSlots> slots;

  /// Adds every slot that a look-up with some of these keys can depend on: theirs, where also a fallthrough matters,
  /// and Undefined for the empty rest. False: all were there.
  bool relyOn(DispatchKeySet ks);
};

/// Of each of a plan's chains, by their places (Plan::chain).
using Reliance = std::vector<ChainUse>;

/// In the place of a symbol: there is an ahead-of-time loop only.
inline constexpr const char* kReadyLoop = "ready";

struct Plan : Chain {
  CompileRequest request;
  /// Symbols of the generic loops of the request's kinds, or kReadyLoop; empty: there is no guard for the kind.
  std::array<std::string, kMaxOperandKinds> loops;
  /// Of operators that the chain's kernels may call: inlined where they do.
  std::vector<Chain> inner;
  std::string refusal;  // empty: compile

  /// With the bitcode of `libraries`, which were taken before.
  static Plan make(const CompileRequest& request, const Libraries& libraries);
  /// Whether code of libraries other than libshunt may be inlined: their symbols mean nothing in another process.
  bool usesOtherLibraries() const;
  /// The same for a thunk of another tier.
  Plan ofTier(Tier tier) const;
  /// Whether the second tier has a loop of the thunk's own, in the place of one that is called.
  bool specialises() const;
  /// Whether a thunk of the tier calls the ahead-of-time loop for operands of that kind, by the address in the record.
  bool callsLoop(size_t kind, Tier tier) const;
  /// Whether the recorded operands are of no kind that a guard expects, and calls are to be counted nevertheless.
  bool countsUnexpected() const;
  /// Whether the tier has an expecting form for the operands of that kind, and for those of any.
  bool expects(size_t kind) const;
  bool expectsOperands() const;
  /// Whether chains of `inner` may come into the thunk.
  bool inlinesOperators() const { return request.tier == Tier::kSecond && !inner.empty(); }
  /// Before anything is built: the plan's own chain is in the thunk, and each relies on the slots of its keys.
  Reliance foreseen() const;
  /// What the thunk relies on: slots of the chains that are in it, and process-wide settings.
  std::vector<Edge> edges(const Reliance& reliance) const;
  /// Chain 0 is the plan's, the others are the inner ones in their order. Null where there are no more.
  const Chain* chain(uint64_t i) const { return i == 0 ? this : i <= inner.size() ? &inner[i - 1] : nullptr; }
  /// A line per step, then the operands expected.
  std::string print(const Reliance& reliance) const;
  std::string print() const { return print(foreseen()); }
  PlanOutline outline() const;
};

}  // namespace shunt::jit
