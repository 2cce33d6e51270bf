// From registrations to a dispatch table: one pure function.
//
// Note [Precedence]
// For a slot, the first of these that applies:
//   1 the exact kernel for its key, newest first (may be a fallthrough)
//   2 CompositeExplicitAutograd                 for backend slots and Undefined
//   3 CompositeImplicitAutograd                 for backend slots and Undefined
//   4 fallthrough, "composite handled below"    for an Autograd slot whose backend slot is filled by 3: Autocast has
//                                               to see the composite whole, so it runs below Autograd; AutogradOther:
//                                               an ambiguity, and an error, when a backend it serves has its own kernel
//   5 the alias Autograd or Autocast            for Autograd and Autocast slots
//   6 the backend fallback of its key (may be a fallthrough)
//   7 missing: calling it is an error that lists what is registered
//
// Note [Stand-ins]
// add.Scalar is a composite: it wraps its number and calls add.Tensor, so whoever registers add.Tensor for a backend
// serves x + 1. Taken literally that costs four times as much as one kernel that takes the number. So such an operator
// has, for some backend keys, a *stand-in*: a kernel that does in one step what the composite does with the kernel that
// the other operator has built in. It applies exactly while a call would run the composite, and that end in that
// kernel:
//   - the composite has not been overridden, and
//   - the other operator's newest kernel for the key is the built-in one, and
//   - wherever the stand-in's operator falls through on the way to the key, the other one does so too (a kernel of
//     add.Tensor for AutocastCPU is met by x + 1 under autocast).
// Where it does not apply, rule 1 goes on with the next older kernel, and then rule 2 finds the composite.
// So a table depends on two operators' registrations: whoever changes one operator's recomputes its *followers'*, in
// the same change and published first (Impl::publishNow). An operator with followers has no stand-ins: there are two
// levels.
#pragma once

#include "src/dispatch/registrations.h"

namespace shunt {

struct TableComputer {
  struct Choice {
    const KernelRecord* record = nullptr;  // null for missing, ambiguous and composite-handled-below
    EntryReason reason = EntryReason::kMissing;
    bool fallthrough = false;
  };

  /// What fills `key`'s slot, and why.
  static Choice choose(const KernelMap& kernels, const KernelMap& fallbacks, DispatchKey key);

  /// The whole table. Slots equal to `previous`'s keep their version, others get the next number of `world`.
  static std::unique_ptr<OpState> compute(const Operator* op, const KernelMap& kernels, const KernelMap& fallbacks,
                                          const OpState* previous, uint64_t& world);

  /// Same derived content (versions apart).
  static bool equal(const OpState& a, const OpState& b);
};

}  // namespace shunt
