// The table of rules: what kernels/operators/batching.yaml says of each operator.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

#include <cstdint>
#include <iterator>

namespace shunt::levels {
namespace {

const BatchRow kRows[] = {
#include "generated/batch_rules.inc"
};

/// Rows by the operator's address: open addressing, of which a look-up in every call in a vmap takes the first step.
class Index {
 public:
  Index() {
    static_assert(2 * std::size(kRows) <= kSlots);
    for (const BatchRow& row : kRows) {
      size_t slot = slotOf(row.op);
      while (slots_[slot] != nullptr) slot = (slot + 1) % kSlots;
      slots_[slot] = &row;
    }
  }
  const BatchRow* find(const Operator* op) const {
    size_t slot = slotOf(op);
    while (slots_[slot] != nullptr && slots_[slot]->op != op) slot = (slot + 1) % kSlots;
    return slots_[slot];
  }

 private:
  static constexpr size_t kSlots = 2048;
  static size_t slotOf(const Operator* op) {
    return (reinterpret_cast<uintptr_t>(op) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (kSlots - 1);
  }
  const BatchRow* slots_[kSlots] = {};
};

}  // namespace

const BatchRow* rowOf(const Operator& op) {
  static const Index index;
  return index.find(&op);
}

}  // namespace shunt::levels
