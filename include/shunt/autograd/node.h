// Node: one step of the backward graph. It computes the gradients of an operator's inputs from those of its outputs.
//
// Tensors (grad_fn) and later nodes in the graph own a node by reference count. The node owns the nodes that its
// gradients go to, and what it saved. One thread builds it. Afterwards only hooks and release_variables change it, so
// several threads may run backward through it while it is retained.
//
// Note [Destruction without recursion]
// A graph is as deep as the program that built it, so nodes must not destroy each other recursively. While a thread
// destroys one node, any other node whose count falls to zero joins that thread's worklist. A chain of any length uses
// one stack frame.
#pragma once

#include <shunt/autograd/edge.h>
#include <shunt/autograd/hook_list.h>
#include <shunt/autograd/input_metadata.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shunt {

namespace autograd {
/// A node's gradients. An undefined tensor stands for zero.
using variable_list = std::vector<Tensor>;
struct NodeHooks;
struct ForwardPlace;
namespace detail {
extern SHUNT_API constinit thread_local uint64_t next_sequence_nr SHUNT_TLS_MODEL;
}
/// Gets the gradients of the operator's outputs before the node runs; returns their replacements (same length).
using PreHook = std::function<variable_list(const variable_list& grads)>;
/// Gets what apply returned (`outputs`) and what it was given (`inputs`); returns the replacement of `outputs`.
using PostHook = std::function<variable_list(const variable_list& outputs, const variable_list& inputs)>;
}  // namespace autograd

struct SHUNT_API Node : public intrusive_ptr_target {
 public:
  Node() : sequence_nr_(autograd::detail::next_sequence_nr++) {
    if ((shunt::detail::tls_state.mode & shunt::detail::kModeAnomaly) != 0) [[unlikely]]
      noteForwardPlace();
  }
  explicit Node(autograd::edge_list next_edges);
  /// A node with a fixed place in the engine's order. The engine runs the highest number first.
  Node(uint64_t sequence_nr, autograd::edge_list next_edges);
  ~Node() override;
  // Every recorded call makes a node, so its memory comes from the thread's free lists.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept { shunt::detail::freeBlock(p, nbytes); }

  /// Computes the gradients of the inputs from those of the outputs. Undefined tensors in either list stand for zero.
  virtual autograd::variable_list apply(autograd::variable_list&& grads) = 0;
  /// The class's name without namespace ("AddBackward0").
  virtual std::string name() const;
  /// Frees what the node saved. Afterwards apply throws (throw_backward_twice).
  virtual void release_variables() {}

  autograd::variable_list operator()(autograd::variable_list&& grads) { return apply(std::move(grads)); }

  // Edges: where the gradients that apply returns go, in the order of its result.
  const autograd::edge_list& next_edges() const { return next_edges_; }
  const autograd::Edge& next_edge(size_t i) const { return next_edges_[i]; }
  void set_next_edges(autograd::edge_list&& edges) { next_edges_ = std::move(edges); }
  void set_next_edge(size_t i, autograd::Edge edge) { next_edges_[i] = std::move(edge); }
  void add_next_edge(autograd::Edge edge) { next_edges_.push_back(std::move(edge)); }
  /// Adds `n` invalid edges, at most edge_list::kInline, to a node that never had any.
  autograd::Edge* make_edges(size_t n) { return next_edges_.fillInline(n); }
  size_t num_outputs() const { return next_edges_.size(); }

  /// Whether the i-th gradient is needed: its edge is valid and, in a run for given inputs only, leads to one of them.
  bool task_should_compute_output(size_t i) const;
  bool should_compute_output(size_t i) const { return task_should_compute_output(i); }
  /// Whether any gradient of [first, last) is needed.
  bool task_should_compute_output(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i)
      if (task_should_compute_output(i)) return true;
    return false;
  }

  // Inputs of apply: one for each output of the operator.
  /// Adds an input that describes `output`. Returns the output's number.
  uint32_t add_input_metadata(const Tensor& output) {
    if (num_inputs_ > 0) [[unlikely]]
      return add_more_input_metadata(output);
    first_input_.describe(output);
    return num_inputs_++;
  }
  /// Adds an input that gets no gradient. Returns the output's number.
  uint32_t add_undefined_input();
  void clear_input_metadata();
  uint32_t num_inputs() const { return num_inputs_; }
  const autograd::InputMetadata& input_metadata(size_t i) const {
    return i == 0 ? first_input_ : more_input_metadata(i - 1);
  }

  /// Later nodes have higher numbers, which the engine runs first. Each thread counts its nodes separately.
  uint64_t sequence_nr() const { return sequence_nr_; }

  // An unfolding node represents a subgraph. A run may execute that subgraph instead: Note [Unfolded nodes]
  // (src/autograd/graph_task.h). Such a node has one input. Any thread may call these.
  bool unfolds() const { return unfolds_; }
  /// The edge to the part's end, which gradients take instead of going to this node. Lives as long as this node.
  /// Null before the part is made and after it is freed; gradients then go to this node. Another thread may change the
  /// answer at any time, so a run asks once for each node.
  virtual const autograd::Edge* unfolded() noexcept { return nullptr; }
  /// Makes the part for a run that leads through this node, if the run needs it. `create_graph`: the run makes a graph
  /// of the gradients. Returns whether the part exists now.
  virtual bool unfold(bool /*create_graph*/) noexcept { return false; }

  // Hooks. Don't change them while another thread may run the node. Each hook gets what the one before it returned.
  /// Returns the hook's id. Pre- and post-hooks are counted separately.
  unsigned add_pre_hook(autograd::PreHook hook);
  unsigned add_post_hook(autograd::PostHook hook);
  /// Removing a hook twice has no effect. Throws for an id that was never given.
  void remove_pre_hook(unsigned id);
  void remove_post_hook(unsigned id);
  /// Null when the node never had hooks.
  const autograd::NodeHooks* hooks() const { return !hasExtras() && !unfolds_ ? nullptr : extraHooks(); }
  /// Shares the hooks of an unfolded node with this node, the end of its part. They get the gradient of this node's
  /// input `input_nr`.
  void share_hooks(std::shared_ptr<autograd::NodeHooks> hooks, uint32_t input_nr);
  /// The only input whose gradient pre-hooks get. -1: pre-hooks get the gradients of all inputs.
  int64_t hooked_input() const;

  // The object that stands for this node in another language (tensor/foreign_object.h). Null: there is none.
  void* foreign_object() const;
  /// Sets a borrowed object.
  void set_foreign_object(void* object) const;
  bool owns_foreign_object() const;
  void set_owns_foreign_object(bool on) const;

  /// The place of the forward call that recorded this node (anomaly_mode.h). Null without anomaly mode.
  const autograd::ForwardPlace* forward_place() const;

 protected:
  void destroy() override;
  void release_resources() override;
  void set_unfolds() { unfolds_ = true; }  // before the node is in a graph
  // Hooks of a node that unfolds. own_hooks() is null if there are none; shared_hooks() creates them.
  virtual const autograd::NodeHooks* own_hooks() const { return nullptr; }
  virtual std::shared_ptr<autograd::NodeHooks> shared_hooks() { return nullptr; }

 private:
  struct Worklist;
  struct Extras;
  uint32_t add_more_input_metadata(const Tensor& output);
  const autograd::InputMetadata& more_input_metadata(size_t i) const;
  const autograd::NodeHooks* extraHooks() const;
  autograd::NodeHooks& hooksToAddTo();
  Extras& extras() const;
  bool hasExtras() const { return extras_.load(std::memory_order_acquire) != nullptr; }
  SHUNT_COLD void freeExtras();
  SHUNT_COLD void noteForwardPlace();
  void end() noexcept;
  uint64_t sequence_nr_;
  autograd::edge_list next_edges_;
  uint32_t num_inputs_ = 0;
  bool unfolds_ = false;
  autograd::InputMetadata first_input_;
  mutable std::atomic<Extras*> extras_{nullptr};  // what few nodes have; owned. The first thread to need it makes it
  Node* next_to_destroy_;                         // on the worklist only
};

namespace autograd {

using shunt::Node;

inline Edge::Edge(intrusive_ptr<Node> node, uint32_t nr) : function(std::move(node)), input_nr(nr) {}

/// The hooks that run before and after a node.
struct NodeHooks {
  HookList<PreHook> pre;
  HookList<PostHook> post;
};

/// Throws the error for saved tensors that were freed. The error names the node that the engine runs on this thread.
[[noreturn]] SHUNT_API SHUNT_COLD void throw_backward_twice();

/// The class name of a node type ("AddBackward0"), without namespace but with template arguments.
SHUNT_API std::string nodeClassName(const std::type_info& type);

}  // namespace autograd
}  // namespace shunt
