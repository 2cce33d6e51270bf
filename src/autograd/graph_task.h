// GraphTask: one run of the engine: which nodes take part, how many gradients each still waits for, and the gradients
// that arrived so far.
//
// Lives on the stack of the thread that runs it; only that thread touches it. Borrows the nodes: the roots, which the
// caller owns, keep all of them alive.
#pragma once

#include <shunt/autograd/node.h>

#include <queue>

namespace shunt::autograd {

/// The nodes of a run, by address: open addressing over indices, so that a small graph takes few allocations.
class NodeTable {
 public:
  struct Entry {
    Node* node;
    uint32_t dependencies = 0;  // edges of executed nodes that have not delivered yet
    bool needed = false;        // in a restricted run: leads to an input
    bool captured = false;      // in a restricted run: is an input's own edge
    variable_list buffer;       // one slot for each input of the node
  };
  NodeTable() : slots_(32, 0) {}

  /// Index of the node's entry, and whether it is new.
  std::pair<uint32_t, bool> insert(Node* node);
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t find(const Node* node) const;
  Entry& operator[](uint32_t i) { return entries_[i]; }
  const Entry& operator[](uint32_t i) const { return entries_[i]; }
  size_t size() const { return entries_.size(); }

 private:
  size_t slotOf(const Node* node) const;
  void grow();
  std::vector<uint32_t> slots_;  // index + 1; 0 is empty
  std::vector<Entry> entries_;
};

class GraphTask {
 public:
  /// `inputs`: where the run ends. Empty: at every leaf. `accumulate`: gradients of inputs go to their leaves, else
  /// they are captured.
  GraphTask(const edge_list& roots, const edge_list& inputs, bool accumulate, bool keep_graph);

  /// Seeds the roots with `grads` and runs. Returns the captured gradients, one for each input.
  variable_list run(const edge_list& roots, variable_list grads);
  bool restricted() const { return restricted_; }
  bool wants(const Node* node) const;

 private:
  struct Ready {
    uint64_t sequence_nr;
    uint32_t index;
    bool operator<(const Ready& o) const { return sequence_nr < o.sequence_nr; }
  };
  struct Capture {
    uint32_t index;
    uint32_t input_nr;
    size_t position;
  };
  void countDependencies(const edge_list& roots);
  void markNeeded(const edge_list& roots);
  void deliver(const Edge& edge, Tensor grad);
  void evaluate(uint32_t index);
  variable_list call(Node& node, variable_list inputs);
  void capture(uint32_t index, const variable_list& inputs);

  NodeTable nodes_;
  std::priority_queue<Ready> ready_;
  std::vector<Capture> captures_;
  variable_list captured_;
  bool restricted_;
  bool keep_graph_;
};

/// Whether the run on this thread, if there is one, goes through `node`.
bool currentTaskWants(const Node* node);
/// The node that a run on this thread is calling, or null. For messages.
const Node* runningNode();

}  // namespace shunt::autograd
