// GraphTask: one run of the engine: which nodes take part, how many gradients each still waits for, and the gradients
// that arrived so far.
//
// Lives on the stack of the thread that runs it; only that thread touches it, so that threads may run through one
// retained graph at once. Borrows the nodes: the roots, which the caller owns, keep all of them alive. The nodes' edges
// are looked up once, at the start: nothing changes the edges of a graph while a run goes through it.
//
// Note [Unfolded nodes]
// A node that stands for a part of a graph (Node::unfold) is unfolded by the first run with create_graph that leads
// through it, and this and all later runs go through the part in its place: what the gradients' graph leads to is the
// same then as what was made of the result leads to, and gradients come together there as they would without the node.
// The part's end has the node's hooks. Which of the two a run takes is decided at its start, where its edges are looked
// up; a run that finds nodes to unfold looks its edges up anew.
#pragma once

#include "src/autograd/scratch_memory.h"

#include <shunt/autograd/anomaly_mode.h>
#include <shunt/autograd/node.h>

#include <memory_resource>
#include <vector>

namespace shunt::autograd {

/// The nodes of a run, by address: open addressing over indices, so that a small graph takes few allocations.
class NodeTable {
 public:
  struct Entry {
    explicit Entry(Node* n) : node(n) {}
    Node* node;
    uint32_t dependencies = 0;  // edges of executed nodes that have not delivered yet
    uint32_t first_edge = 0;    // where GraphTask keeps the node's targets
    bool needed = false;        // in a restricted run: leads to an input
    bool captured = false;      // in a restricted run: is an input's own edge
    bool seeded = false;        // is a root that has its gradient
    Tensor grad;                // what arrived at a node with one input
    variable_list grads;        // at a node with several: a slot for each; empty until the first gradient comes
  };
  explicit NodeTable(std::pmr::memory_resource* memory) : slots_(kSlots, 0, memory), entries_(memory) {
    entries_.reserve(kSlots / 2);
  }

  /// Index of the node's entry, and whether it is new.
  std::pair<uint32_t, bool> insert(Node* node) {
    if (2 * entries_.size() >= slots_.size()) [[unlikely]]
      grow();
    uint32_t& slot = slots_[slotOf(node)];
    if (slot != 0) return {slot - 1, false};
    entries_.emplace_back(node);
    slot = static_cast<uint32_t>(entries_.size());
    return {slot - 1, true};
  }
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t find(const Node* node) const;
  void clear();
  Entry& operator[](uint32_t i) { return entries_[i]; }
  const Entry& operator[](uint32_t i) const { return entries_[i]; }
  size_t size() const { return entries_.size(); }

  static constexpr size_t kSlots = 32;  // to begin with

 private:
  size_t slotOf(const Node* node) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & mask;
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1].node != node) slot = (slot + 1) & mask;
    return slot;
  }
  void grow();
  std::pmr::vector<uint32_t> slots_;  // index + 1; 0 is empty
  std::pmr::vector<Entry> entries_;
};

class GraphTask {
 public:
  /// `inputs`: where the run ends. Empty: at every leaf. `accumulate`: gradients of inputs go to their leaves, else
  /// they are captured.
  GraphTask(const edge_list& roots, const edge_list& inputs, bool accumulate, bool keep_graph);

  /// Seeds the roots with `grads` and runs. Returns the captured gradients, one for each input.
  variable_list run(const edge_list& roots, variable_list grads);
  bool restricted() const { return restricted_; }
  bool wants(Node* node) const;
  /// Whether leaves get what comes to them; else it is captured, for who asked.
  bool accumulates() const { return captures_.empty(); }
  /// Whether the node gets one gradient only, which hasn't come yet.
  bool awaitsOne(const Node* node) const;
  /// Whether no gradient has come by edges like this one yet, or none that comes is kept.
  bool hasNothingFor(const Edge& edge) const;
  /// The node being called, or null.
  const Node* runningNode() const { return running_node_; }
  // current_run.h
  int64_t id() const;
  bool calls(const Node& node) const;

  /// One list of gradients goes along a run from node to node, so it starts with room for what most nodes return: the
  /// gradients of up to four inputs. Longer ones grow once.
  static constexpr size_t kRoom = 4;

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
  /// A node in whose place the run goes through what it was unfolded to.
  struct Unfolded {
    Node* folded;
    const Edge* end;
  };
  void build(const edge_list& roots, const edge_list& inputs, bool accumulate);
  bool unfold();
  uint32_t insert(const Edge& edge);
  SHUNT_NOINLINE uint32_t insertFoldable(Node& node);
  const Edge* noteUnfolded(Node& node);
  const Edge* endOf(const Node* node) const;
  uint32_t find(Node* node) const;
  uint32_t inputOf(const Edge& edge, uint32_t index) const;
  void countDependencies(const edge_list& roots);
  void markNeeded(const edge_list& roots);
  void push(uint32_t index);
  uint32_t pop();
  void evaluate(uint32_t index);
  static variable_list callWithHooks(Node& node, const NodeHooks& hooks, variable_list inputs);
  static variable_list callWatched(Node& node, const NodeHooks* hooks, variable_list inputs);
  void capture(uint32_t index, const variable_list& inputs);
  void deliver(uint32_t index, uint32_t input_nr, Tensor&& grad);
  static Tensor& slotOf(NodeTable::Entry& entry, uint32_t input_nr);
  variable_list takeInputs(NodeTable::Entry& entry);
  void keepForNext(variable_list&& list);

  // Enough for a graph of 16 nodes and some; what is larger goes on in the heap.
  ScratchMemory<1792> memory_;
  NodeTable nodes_;
  std::pmr::vector<uint32_t> targets_;  // for each edge of each node the index of the node that it leads to, or kNone
  std::pmr::vector<Ready> ready_;       // a heap, the highest sequence number first
  variable_list spare_;                 // empty, for the inputs of the next node
  std::vector<Capture> captures_;
  std::vector<Unfolded> unfolded_;
  std::vector<uint32_t> folded_;  // nodes that could be unfolded
  variable_list captured_;
  const Node* running_node_ = nullptr;
  mutable int64_t id_ = -1;  // given when somebody asks
  bool restricted_;
  bool keep_graph_;
  const bool anomaly_ = AnomalyMode::is_enabled();
};

/// Says once that the grads that create_graph makes hold the graph, which holds them.
void warnOfCreateGraph(bool create_graph);

/// One run from `outputs` (engine.h: backward, and grad where not `accumulate`). `grads` and `inputs` may be empty.
variable_list execute(TensorList outputs, TensorList grads, TensorList inputs, bool accumulate, bool keep_graph,
                      bool create_graph);

/// Whether the run on this thread, if there is one, goes through `node`.
bool currentTaskWants(Node* node);
/// Whether all that the leaf with this accumulator gets in the run on this thread is one gradient, which the running
/// node is about to give.
bool currentTaskEndsAt(const Node* accumulator);
/// Whether nothing has come by edges like this one in the run on this thread, so that what comes next is moved there.
bool currentTaskHasNothingFor(const Edge& edge);
/// The node that a run on this thread is calling, or null.
const Node* runningNode();

}  // namespace shunt::autograd
