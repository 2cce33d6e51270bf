// Placement: the order of a program's nodes, where each tensor lies in a run, who reads it last, and which views are
// made late. Made before the steps and regions, which are built from it; constant then.
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/compile/passes/history.h"
#include "src/compile/regions/regions.h"
#include "src/compile/steps/prepared_step.h"
#include "src/compile/steps/product_step.h"
#include "src/compile/steps/step.h"
#include "src/trace/uses.h"

#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shunt::compiled {

struct ProgramOptions {
  int64_t native_after = 0;                   // as PlanOptions'
  bool inner_only_record = false;             // Autograd's kernels of all operators that the nodes' operators call
  bool guarded = false;                       // as PlanOptions'
  bool buffers = false;                       // Note [Buffers]
  std::vector<int> into = {};                 // as PlanOptions'
  const ExpectedResults* expected = nullptr;  // of the graph's nodes; null: nothing is compared
};

/// Note [Buffers] (program/buffers.h).
struct Buffers {
  std::unordered_map<const Graph::Value*, uint32_t> at;  // Source::index of tensors that are none
  std::unordered_set<const Graph::Node*> views;          // that aren't made for those who read them
  std::unordered_set<const Graph::Node*> grads;          // reads of leaves' grads, which readers find themselves
  size_t bytes = 0;                                      // in all
  bool empty() const { return at.empty() && views.empty() && grads.empty(); }
};

bool isRegion(const Group& g);
size_t stepsOf(const Group& g);

class Placement {
 public:
  /// Of a position: an output of the graph, which nobody reads last.
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();

  Placement(const Graph& graph, const Aliases& aliases, const History& history, const std::vector<Group>& groups,
            const ProgramOptions& options, const Buffers& buffers);

  const trace_detail::Uses& uses() const { return uses_; }
  const ProgramOptions& options() const { return options_; }
  const std::vector<const Graph::Node*>& order() const { return order_; }
  size_t position(const Graph::Node& node) const { return position_.at(&node); }
  bool isInRegion(const Graph::Node& node) const { return ends_.contains(&node); }
  size_t slots() const { return slots_; }
  /// Slots before are used where regions run as loops and nothing leaves the buffers; the others only elsewhere.
  size_t keptSlots() const { return kept_slots_; }

  const Graph::Value* tensorOf(const Graph::Value* v) const { return aliases_.tensorOf(v); }
  /// Whether it may lie in memory of a given tensor.
  bool isOfGiven(const Graph::Value* v) const { return aliases_.holdsGiven(aliases_.of(v)); }
  /// Of the value's tensor.
  Source sourceOf(const Graph::Value* v) const { return sources_.at(aliases_.tensorOf(v)); }
  /// Where a value that a node makes is kept; -1: nowhere.
  int slotOf(const Graph::Value* v) const;
  /// The position that reads the value's tensor last.
  size_t last(const Graph::Value* v) const { return last_.at(aliases_.tensorOf(v)); }
  /// Whether the tensor is read at `position` or later, or leaves the graph.
  bool isReadFrom(const Graph::Value* v, size_t position) const;

  /// The product that the node is, where it may run without its operator; null: it isn't one.
  const ProductNode* productOf(const Graph::Node& node) const;
  bool isLate(const Graph::Node& node) const { return late_.contains(&node); }
  /// The tensor whose memory a late view shows; of others the value itself.
  const Graph::Value* behind(const Graph::Value* v) const;
  /// Of the value's elements, wherever they are. Late views show their tensors' first elements first.
  PreparedStep::Place placeOf(const Graph::Value* v) const;
  bool isBuffer(const Graph::Value* v) const { return buffers_.at.contains(aliases_.tensorOf(behind(v))); }
  /// Whether the node is a view or a read of a grad whose tensor is there only where a reader calls its operator.
  bool isRarelyMade(const Graph::Node& node) const {
    return buffers_.views.contains(&node) || buffers_.grads.contains(&node);
  }
  /// The given tensor that the value's tensor is to be, where whoever makes it can; -1: a new one.
  int intoOf(const Graph::Value* v) const;
  bool isLateGrad(const Graph::Node& node) const { return buffers_.grads.contains(&node); }
  /// Whether readers that need its elements alone may do without the view that the node makes.
  bool mayPassBy(const Graph::Node& view) const;
  /// Whether a given tensor is what the caller has compared whenever the graph reads it: no node may give it other
  /// sizes or strides, under whatever value of the same memory it has the tensor: a result that is its argument, or an
  /// argument that the function has captured as well.
  bool isGuarded(const Graph::Value* v) const {
    return options_.guarded && v->kind != Graph::Value::Kind::kResult && !reshaped_.contains(aliases_.of(v));
  }
  /// The kernel for Autograd that the node's step passes by. A view that leaves the graph keeps what Autograd's wrapper
  /// notes about it.
  SeenEntry autogradPassedBy(const Graph::Node& node) const;

 private:
  void placeTensors();
  void findLastReaders();
  void findTargets();
  void findProducts();
  bool mayBeLate(const Graph::Node& node) const;
  bool readsAsMatrix(const Graph::Node& product, const Graph::Value* v) const;
  bool staysInRegion(const Graph::Node& node, const Graph::Value* v) const;
  bool isRarelyATensor(const Graph::Node& node, const Graph::Value* v) const;
  void noteReshaped(const Graph::Node& node);

  const Graph& graph_;
  const trace_detail::Uses uses_;
  const Aliases& aliases_;
  const History& history_;
  const ProgramOptions& options_;
  const Buffers& buffers_;
  std::vector<const Graph::Node*> order_;
  std::unordered_map<const Graph::Node*, size_t> position_;
  std::unordered_map<const Graph::Node*, size_t> ends_;  // by node of a region: the position behind its last one
  std::unordered_set<size_t> reshaped_;                  // groups of aliases_
  std::unordered_map<const Graph::Node*, ProductNode> products_;
  std::unordered_set<const Graph::Node*> late_;  // views that their readers do without
  std::unordered_map<const Graph::Value*, Source> sources_;
  std::unordered_map<const Graph::Value*, size_t> last_;  // by tensor
  std::unordered_map<const Graph::Value*, int> into_;     // by tensor
  size_t slots_ = 0, kept_slots_ = 0;
};

}  // namespace shunt::compiled
