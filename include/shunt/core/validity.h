// Validity: whether the table entries that a thunk relied on still stand. True until it ends, once.
//
// Owned by the thunk. Read by callers on any thread before an operator that the thunk has inlined (I1); ended under the
// dispatcher's lock (R3). Note [Thunks and the world] in src/dispatch/publication.h has the steps and why these orders.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>

namespace shunt::world {

/// Bugs a test can plant in the steps of publication.h (never in the library).
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
  /// I1, on any thread.
  bool holds() const { return Bugs::kNoValidityCheck || valid_.load(std::memory_order_acquire); }
  /// R3.
  void end() { valid_.store(false, std::memory_order_release); }

 private:
  typename P::template Atomic<bool> valid_{true};
};

}  // namespace shunt::world
