// Node: one step of the backward graph: takes the gradients of an operator's outputs, gives those of its inputs.
//
// Owned by reference count from the tensors it made (grad_fn) and from the nodes after it in the graph; owns the nodes
// its gradients go to and what it saved. Built on one thread; then read-only but for hooks and release_variables, so
// several threads may run backward through it if it is retained.
//
// Note [Destruction without recursion]
// A graph is as deep as the program that built it. The node whose count falls to zero while another node of this thread
// is being destroyed joins that one's worklist instead of being destroyed inside it, so a chain of any length uses one
// frame.
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
/// Tensors, some of which may be undefined: a node's gradients.
using variable_list = std::vector<Tensor>;
struct NodeHooks;
struct ForwardPlace;
namespace detail {
extern SHUNT_API constinit thread_local uint64_t next_sequence_nr SHUNT_TLS_MODEL;
}
/// Gradients of the node's outputs in, replacements out (same length).
using PreHook = std::function<variable_list(const variable_list& grads)>;
/// What apply returned and what it was given; returns the replacement of the former.
using PostHook = std::function<variable_list(const variable_list& outputs, const variable_list& inputs)>;
}  // namespace autograd

struct SHUNT_API Node : public intrusive_ptr_target {
 public:
  Node() : sequence_nr_(autograd::detail::next_sequence_nr++) {
    if ((shunt::detail::tls_state.mode & shunt::detail::kModeAnomaly) != 0) [[unlikely]]
      noteForwardPlace();
  }
  explicit Node(autograd::edge_list next_edges);
  /// A node with a fixed place in the engine's order: the highest number runs first.
  Node(uint64_t sequence_nr, autograd::edge_list next_edges);
  ~Node() override;
  // A node for every recorded call: from the thread's free lists.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept { shunt::detail::freeBlock(p, nbytes); }

  /// Gradients of the inputs from those of the outputs; either may hold undefined tensors, which stand for zero.
  virtual autograd::variable_list apply(autograd::variable_list&& grads) = 0;
  /// The class's name without namespace ("AddBackward0").
  virtual std::string name() const;
  /// Frees what was saved; afterwards apply throws (throw_backward_twice).
  virtual void release_variables() {}

  autograd::variable_list operator()(autograd::variable_list&& grads) { return apply(std::move(grads)); }

  // Edges: where the gradients go that apply returns, in its order.
  const autograd::edge_list& next_edges() const { return next_edges_; }
  const autograd::Edge& next_edge(size_t i) const { return next_edges_[i]; }
  void set_next_edges(autograd::edge_list&& edges) { next_edges_ = std::move(edges); }
  void set_next_edge(size_t i, autograd::Edge edge) { next_edges_[i] = std::move(edge); }
  void add_next_edge(autograd::Edge edge) { next_edges_.push_back(std::move(edge)); }
  /// `n` invalid edges, at most edge_list::kInline, of a node that has had none.
  autograd::Edge* make_edges(size_t n) { return next_edges_.fillInline(n); }
  size_t num_outputs() const { return next_edges_.size(); }

  /// Whether anything wants the i-th gradient: the edge is valid and, in a run for given inputs only, leads to one.
  bool task_should_compute_output(size_t i) const;
  bool should_compute_output(size_t i) const { return task_should_compute_output(i); }
  /// Any of [first, last).
  bool task_should_compute_output(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i)
      if (task_should_compute_output(i)) return true;
    return false;
  }

  // Inputs of apply: one for each output of the operator.
  /// Returns the output's number.
  uint32_t add_input_metadata(const Tensor& output) {
    if (num_inputs_ > 0) [[unlikely]]
      return add_more_input_metadata(output);
    first_input_.describe(output);
    return num_inputs_++;
  }
  /// An input that gets no gradient; then how many inputs there are, and what each takes.
  uint32_t add_undefined_input();
  void clear_input_metadata();
  uint32_t num_inputs() const { return num_inputs_; }
  const autograd::InputMetadata& input_metadata(size_t i) const {
    return i == 0 ? first_input_ : more_input_metadata(i - 1);
  }

  /// Later nodes have higher numbers, on each thread apart; the engine prefers them.
  uint64_t sequence_nr() const { return sequence_nr_; }

  // A node that stands for a part of a graph, which runs may go through in its place: Note [Unfolded nodes]
  // (src/autograd/graph_task.h). Such a node has one input. Any thread.
  bool unfolds() const { return unfolds_; }
  /// Where gradients go instead of to this node: an edge to the part's end. Null before the part is made and after it
  /// was freed, when they go to this node. Another thread may change that at any time: a run asks once for each node.
  /// The edge lives as long as this node.
  virtual const autograd::Edge* unfolded() noexcept { return nullptr; }
  /// Makes the part for a run that leads through this node, if that run has need of it (`create_graph`: it makes a
  /// graph of the gradients). True: the part is there now.
  virtual bool unfold(bool /*create_graph*/) noexcept { return false; }

  // Hooks; not while the node may be running on another thread. Each is called with what the one before it returned.
  /// Returns the hook's number among its kind.
  unsigned add_pre_hook(autograd::PreHook hook);
  unsigned add_post_hook(autograd::PostHook hook);
  /// A hook that was removed before is passed over; one that never was is an error.
  void remove_pre_hook(unsigned id);
  void remove_post_hook(unsigned id);
  /// Null when there never were any.
  const autograd::NodeHooks* hooks() const { return !hasExtras() && !unfolds_ ? nullptr : extraHooks(); }
  /// Gives this node, the end of what another was unfolded to, that one's hooks; they get the gradient of this node's
  /// `input_nr`-th input.
  void share_hooks(std::shared_ptr<autograd::NodeHooks> hooks, uint32_t input_nr);
  /// The only input whose gradient pre-hooks get; -1: they get those of all.
  int64_t hooked_input() const;

  // The object that stands for this node in another language: foreign_object.h.
  void* foreign_object() const;
  /// Borrowed. Null: there is none.
  void set_foreign_object(void* object) const;
  bool owns_foreign_object() const;
  void set_owns_foreign_object(bool on) const;

  /// Where the forward call was that recorded this node (anomaly_mode.h); null if it was recorded without that mode.
  const autograd::ForwardPlace* forward_place() const;

 protected:
  void destroy() override;
  void release_resources() override;
  void set_unfolds() { unfolds_ = true; }  // before the node is in a graph
  // Hooks of a node that unfolds; null where there are none, and made where there are none.
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
  mutable std::atomic<Extras*> extras_{nullptr};  // what few nodes have; owned. Made once, by whichever thread is first
  Node* next_to_destroy_;                         // on the worklist only
};

namespace autograd {

using shunt::Node;

inline Edge::Edge(intrusive_ptr<Node> node, uint32_t nr) : function(std::move(node)), input_nr(nr) {}

/// What runs before and after a node.
struct NodeHooks {
  HookList<PreHook> pre;
  HookList<PostHook> post;
};

/// What a node throws whose saved tensors have been freed; names the node that the engine runs on this thread.
[[noreturn]] SHUNT_API SHUNT_COLD void throw_backward_twice();

/// "AddBackward0" of a mangled class name: no namespace, template arguments kept.
SHUNT_API std::string nodeClassName(const std::type_info& type);

}  // namespace autograd
}  // namespace shunt
