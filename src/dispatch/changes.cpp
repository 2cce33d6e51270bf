#include "src/dispatch/changes.h"

#include "src/dispatch/state_in_use.h"

namespace shunt::detail {

constinit std::atomic<uint64_t> table_changes{0};

// No slot ever has a version again, so the sum of two tables' would have to agree by chance: each is mixed first.
uint64_t fingerprintOf(const Operator& op) {
  if (op.state().load(std::memory_order_acquire) == nullptr) return 0;
  const StateInUse state(op);
  uint64_t hash = 0xcbf29ce484222325u;
  for (int slot = 0; slot < kNumSlots; ++slot) hash = (hash ^ state->entry(slot).version) * 0x100000001b3u;
  return hash;
}

}  // namespace shunt::detail
