// Thunk: compiled code for one (operator, keyset, signature), with the table entries it relied on. What the compiler
// hands to the dispatcher and the dispatcher drops; the narrow header between src/dispatch and jit/.
//
// States: made by the compiler -> published (in its operator's OpStates from one publication on) -> invalid (an entry
// it relied on has changed; out of every OpState made from then on) -> freed, when the last OpState that held it is
// reclaimed. `validity` ends under the dispatcher's lock; the thunk reads it before an operator that it has inlined.
// Everything else is constant after publication. Note [Thunks and the world] in publication.h.
#pragma once

#include "src/dispatch/publication.h"
#include "src/dispatch/timing.h"

#include <shunt/core/op_state.h>
#include <shunt/jit/jit.h>
#include <shunt/jit/tier.h>

#include <chrono>
#include <string>

namespace shunt {

SHUNT_API const char* toString(EntryReason reason);

namespace jit {

/// "The plan relied on what this slot held at that version." Without an operator the slot is a process-wide Setting
/// (src/core/settings.h).
struct Edge {
  const Operator* op;
  int slot;
  uint64_t version;
};

class Thunk : public intrusive_ptr_target {
 public:
  const Operator* op = nullptr;
  uint64_t keys = 0;
  uint64_t signature = 0;
  void* code = nullptr;
  Tier tier = Tier::kSecond;
  int kinds = 0;             // of operands that it was compiled for
  bool worth_again = false;  // CompileResult's
  std::vector<Edge> edges;
  world::Validity<detail::HardwarePlatform> validity;
  mutable Timing timing;

 protected:
  ~Thunk() override = default;  // the compiler's subclass frees the code
};

/// What the compiler reads of an operator, copied under the lock.
struct OpSnapshot {
  const Operator* op = nullptr;
  std::array<TableEntry, kNumSlots> table{};
  std::array<DispatchKeySet, kNumBackends> masks{};
  /// The bytes of an OpState with this table, without hot entries: what folded look-ups read.
  std::vector<std::byte> image;
  size_t table_offset = 0;
  std::string name;

  const TableEntry& lookup(DispatchKeySet ks) const { return table[static_cast<size_t>(ks.highestSlot())]; }
  DispatchKeySet maskFor(DispatchKeySet ks) const { return masks[static_cast<size_t>(ks.highestBackend())]; }
};

SHUNT_API OpSnapshot snapshot(const Operator& op);

/// P3: publishes the thunk unless an entry it relied on has changed since, or compiling is off. It takes the place of
/// the pair's thunk of a lower tier, or of its own tier for fewer kinds of operands; a pair that has another keeps
/// that.
SHUNT_API bool publish(intrusive_ptr<Thunk> thunk);

/// Takes one thunk out of its operator. False: it was out already.
SHUNT_API bool retire(const Thunk& thunk, const std::string& cause);
/// Takes all thunks out of their operators. Returns how many.
SHUNT_API size_t retireAll(const std::string& cause);

/// Whether publish() takes thunks.
void acceptThunks(bool on);

SHUNT_API std::vector<InvalidationRecord> invalidationLog();
/// Thunks that are in force.
SHUNT_API std::vector<intrusive_ptr<Thunk>> publishedThunks();

}  // namespace jit
}  // namespace shunt
