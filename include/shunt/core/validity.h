// Validity: whether the table entries that a thunk relied on still stand. It ends once and never comes back.
//
// The thunk owns it. Callers on any thread read it before an operator that the thunk inlined (I1). It ends under the
// dispatcher's lock (R3). Note [Thunks and the world] (src/dispatch/publication.h) explains the steps and the orders.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>

namespace shunt::world {

/// Bugs that a test can plant in the steps of publication.h; the library has none of them.
struct NoPublicationBugs {
  static constexpr bool kNoVersionCheck = false;   // P3 without the comparison
  static constexpr bool kChangedFirst = false;     // R4's order swapped
  static constexpr bool kInvalidateLast = false;   // R3 after R4
  static constexpr bool kKeepDependants = false;   // R4 without the dependants
  static constexpr bool kNoValidityCheck = false;  // I1 missing
};

template <class P, class Bugs = NoPublicationBugs>
class Validity {
 public:
  /// Step I1; any thread.
  bool holds() const { return Bugs::kNoValidityCheck || valid_.load(std::memory_order_acquire); }
  /// Step R3, under the dispatcher's lock.
  void end() { valid_.store(false, std::memory_order_release); }

 private:
  typename P::template Atomic<bool> valid_{true};
};

}  // namespace shunt::world
