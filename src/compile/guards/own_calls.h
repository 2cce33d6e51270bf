// Whether what is registered leaves an operator's calls to the library's own kernels, as the tables are now: whoever
// relies on it relies on their entries (kPassedByQuickCalls, steps/grad_step.h, and CPU). Any thread.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt::compiled {

/// What calls for ordinary tensors on the CPU come to that have these keys, too.
const TableEntry& entryWith(const OpState& state, DispatchKeySet above);

/// Whether calls for ordinary tensors on the CPU come to a kernel of the library's own of this kind, and to none of
/// somebody else's before it. `may_autocast`: to none for autocast at all.
bool callsOwn(const Operator& op, EntryReason reason, bool may_autocast);

/// Whether calls of the operator come to a program's kernel for Autograd if a tensor has that key, as views have, and
/// tensors that require grad. One that calls others below is asked for these by its name: of the library's composites
/// graphs have only this one whole.
bool asksAutograd(const Operator& op);

/// Whether the operator's own table has nothing for autocast; what its kernels call isn't asked.
bool autocastPassesBy(const Operator& op);

}  // namespace shunt::compiled
