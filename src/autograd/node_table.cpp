// The hash table of graph_task.h, from nodes to what a backward pass knows of them.
#include "src/autograd/graph_task.h"

namespace shunt::autograd {

size_t NodeTable::slotOf(const Node* node) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & mask;
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].node != node) slot = (slot + 1) & mask;
  return slot;
}

std::pair<uint32_t, bool> NodeTable::insert(Node* node) {
  if (2 * entries_.size() >= slots_.size()) grow();
  const size_t slot = slotOf(node);
  if (slots_[slot] != 0) return {slots_[slot] - 1, false};
  entries_.push_back(Entry{.node = node, .buffer = {}});
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  return {slots_[slot] - 1, true};
}

uint32_t NodeTable::find(const Node* node) const {
  const uint32_t index = slots_[slotOf(node)];
  return index == 0 ? kNone : index - 1;
}

void NodeTable::grow() {
  slots_.assign(4 * slots_.size(), 0);
  for (size_t i = 0; i < entries_.size(); ++i) slots_[slotOf(entries_[i].node)] = static_cast<uint32_t>(i + 1);
}

}  // namespace shunt::autograd
