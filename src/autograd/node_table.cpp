// The hash table of graph_task.h, from nodes to what a backward pass knows of them.
#include "src/autograd/graph_task.h"

namespace shunt::autograd {

uint32_t NodeTable::find(const Node* node) const {
  const uint32_t index = slots_[slotOf(node)];
  return index == 0 ? kNone : index - 1;
}

void NodeTable::clear() {
  entries_.clear();
  slots_.assign(slots_.size(), 0);
}

void NodeTable::grow() {
  slots_.assign(4 * slots_.size(), 0);
  for (size_t i = 0; i < entries_.size(); ++i) slots_[slotOf(entries_[i].node)] = static_cast<uint32_t>(i + 1);
}

}  // namespace shunt::autograd
