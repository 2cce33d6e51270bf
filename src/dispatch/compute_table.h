// From registrations to a dispatch table: one pure function.
//
// Note [Precedence]
// For a slot, the first of these that applies:
//   1 the exact kernel for its key, newest first (may be a fallthrough)
//   2 CompositeExplicitAutograd                 for backend slots and Undefined
//   3 CompositeImplicitAutograd                 for backend slots and Undefined
//   4 the alias Autograd                        for Autograd slots
//   5 fallthrough, "composite handled below"    for an Autograd slot whose backend slot is filled by 3: Autocast must see
//                                               the composite whole, so it runs below Autograd; for AutogradOther this is
//                                               an ambiguity, and an error, when a backend it serves has its own kernel
//   6 the backend fallback of its key (may be a fallthrough)
//   7 missing: calling it is an error that lists what is registered
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
