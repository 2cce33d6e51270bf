// HotEntries: an OpState's thunks and the HotTable made of them. Used by src/dispatch only, on states not yet
// published.
#pragma once

#include "src/dispatch/thunk.h"

#include <span>

namespace shunt {

/// A thunk that is about to leave its operator, and why; without a cause it is replaced by one of a higher tier or for
/// more kinds of operands, which is no invalidation.
struct StaleThunk {
  jit::Thunk* thunk;
  std::string cause;
};

struct HotEntries {
  static const jit::Thunk& at(const OpState& s, size_t i) { return static_cast<const jit::Thunk&>(*s.thunks_[i]); }
  static size_t count(const OpState& s) { return s.thunks_.size(); }
  static intrusive_ptr<jit::Thunk> thunk(const OpState& s, size_t i) {
    return intrusive_ptr<jit::Thunk>::retainFrom(static_cast<jit::Thunk*>(s.thunks_[i].get()));
  }

  /// The same table and masks, no thunks.
  static std::unique_ptr<OpState> copyTable(const OpState& from);
  /// Gives `to` the thunks of `from` but those of `stale`, and `more` (may be null).
  static void carry(OpState& to, const OpState& from, std::span<const StaleThunk> stale,
                    const intrusive_ptr<jit::Thunk>& more);
};

}  // namespace shunt
