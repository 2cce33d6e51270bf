// Functions that Autograd and ADInplaceOrView kernels call: they decide whether a call is recorded, collect its edges,
// and give results their history, view or version. A kernel calls them in this order (SEMANTICS: key order, point 1):
//
//   check_inplace(self, any_requires_grad)                 in-place forms
//   node = make_intrusive<XBackward0>(); its edges are collect_next_edges(inputs...); save inputs
//   { AutoDispatchBelowAutograd guard; result = redispatch(...); }
//   increment_version(self)  or  result = as_view(self, result, ...)
//   set_history(result, node)  or  rebase_history(self, node)
//   save outputs
//
// Each function touches only the given tensors. Any thread that may change those tensors may call it.
#pragma once

#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/tls.h>

namespace shunt::autograd {

// ---- inputs -------------------------------------------------------------------------------------------------------
/// Whether a gradient flows to any of the tensors. Ignores grad mode; undefined tensors count as false.
inline bool any_requires_grad(const Tensor& t) {
  const AutogradMeta* meta = t.defined() ? get_autograd_meta(t) : nullptr;
  if (meta == nullptr) return false;
  return meta->requires_grad_ || meta->grad_fn_ || (meta->is_view_ && meta->requires_grad());
}
inline bool any_requires_grad(const std::optional<Tensor>& t) { return t && any_requires_grad(*t); }
inline bool any_requires_grad(TensorList list) {
  for (const Tensor& t : list)
    if (any_requires_grad(t)) return true;
  return false;
}
inline bool any_requires_grad(const std::vector<Tensor>& list) { return any_requires_grad(TensorList(list)); }
inline bool any_requires_grad(TensorOptList list) {
  for (const auto& t : list)
    if (any_requires_grad(t)) return true;
  return false;
}

/// Whether a call with these arguments (tensors, optional tensors, lists) is recorded. False when grad mode is off.
template <class... Args>
bool compute_requires_grad(const Args&... args) {
  return GradMode::is_enabled() && (any_requires_grad(args) || ...);
}

namespace impl {
/// The slow path of gradient_edge: `t` is a leaf, a view or a wrapper, and has autograd metadata.
SHUNT_API Edge edge_of_leaf_or_view(const Tensor& t);
}  // namespace impl
/// The edge that the gradient of `t` flows along: to its grad_fn, or to the accumulator of a leaf. The edge is invalid
/// when `t` does not require grad.
SHUNT_ALWAYS_INLINE Edge gradient_edge(const Tensor& t) {
  const AutogradMeta* meta = get_autograd_meta(t);
  if (meta == nullptr) return {};
  if (meta->is_view_ || !meta->grad_fn_) return impl::edge_of_leaf_or_view(t);
  return Edge(meta->grad_fn_, meta->output_nr_);
}
/// The leaf's accumulator, created on first use. Null when the leaf does not require grad.
SHUNT_API intrusive_ptr<Node> grad_accumulator(const Tensor& leaf);

namespace impl {
// Calls add(edge) for each tensor, with an invalid edge for an absent one.
template <class Add>
SHUNT_ALWAYS_INLINE void collect_edges(const Add& add, const Tensor& t) {
  add(t.defined() ? gradient_edge(t) : Edge());
}
template <class Add>
SHUNT_ALWAYS_INLINE void collect_edges(const Add& add, const std::optional<Tensor>& t) {
  add(t && t->defined() ? gradient_edge(*t) : Edge());
}
template <class Add>
void collect_edges(const Add& add, TensorList list) {
  for (const Tensor& t : list) collect_edges(add, t);
}
template <class Add>
void collect_edges(const Add& add, const std::vector<Tensor>& list) {
  collect_edges(add, TensorList(list));
}
template <class Add>
void collect_edges(const Add& add, TensorOptList list) {
  for (const auto& t : list) collect_edges(add, t);
}
}  // namespace impl

/// One edge for each tensor, in order. Lists are flattened; absent tensors get invalid edges.
template <class... Args>
edge_list collect_next_edges(const Args&... args) {
  edge_list edges;
  edges.reserve(sizeof...(Args));
  (impl::collect_edges([&](Edge edge) { edges.push_back(std::move(edge)); }, args), ...);
  return edges;
}

// ---- outputs ------------------------------------------------------------------------------------------------------
/// Makes the tensor the node's next output. An integer or undefined tensor takes an output number, but no history.
SHUNT_API void set_history(const Tensor& output, const intrusive_ptr<Node>& node);
SHUNT_API void set_history(const std::vector<Tensor>& outputs, const intrusive_ptr<Node>& node);
/// `ks` with the Autograd key of its backend: the keys of a tensor whose calls are recorded.
constexpr DispatchKeySet with_autograd_key(DispatchKeySet ks) {
  constexpr DispatchKeySet kCpu(DispatchKey::AutogradCPU);
  if (ks.backends() == kCpu.backends()) [[likely]]
    return ks | kCpu;
  return ks.add(ks.backends().empty() ? DispatchKey::AutogradOther : autogradKeyOf(ks.highestBackend()));
}
/// The same for the node's last output. Moves the reference to the output if it can; else `node` keeps it.
SHUNT_API void set_history(const Tensor& output, intrusive_ptr<Node>&& node);
/// The same for an operator's only output. Takes over the caller's reference `owned`.
SHUNT_API void record_output(const Tensor& output, Node* owned);
/// The same for the result of an in-place operator. When `self` is a view, the base's history changes (CopySlices).
SHUNT_API void rebase_history(const Tensor& self, intrusive_ptr<Node> node);
SHUNT_API void rebase_history(TensorList selves, const intrusive_ptr<Node>& node);
/// Sets the grad_fn and output number of `t`, and its Autograd key. Tensor hooks stay with the old grad_fn.
SHUNT_API void set_gradient_edge(const Tensor& t, Edge edge);

/// Throws when an in-place operator must not change `t`. Call it before anything changes. `t` must not be:
/// - a leaf that requires grad, or a view of one, while `requires_grad` and grad mode are on;
/// - a view whose history cannot be rebuilt (CreationMeta), under the same condition;
/// - an inference tensor outside InferenceMode.
SHUNT_API void check_inplace(const Tensor& t, bool requires_grad);
SHUNT_API void check_inplace(TensorList list, bool requires_grad);
/// Counts an in-place change; call it after the change. Throws for inference tensors outside InferenceMode.
SHUNT_API void increment_version(const Tensor& t);
SHUNT_API void increment_version(TensorList list);

/// The CreationMeta of views made now, from the thread's modes: kNoGradMode, kInferenceMode or kDefault.
SHUNT_API CreationMeta current_creation_meta();
/// Marks `view` as a view of `base`. If it is not differentiable (detach), the two only share the version counter.
SHUNT_API Tensor as_view(const Tensor& base, Tensor view, bool is_differentiable,
                         CreationMeta creation_meta = current_creation_meta(), ViewFunc view_func = nullptr);
/// The same for views that one operator returns together (split, unbind).
SHUNT_API std::vector<Tensor> as_view(const Tensor& base, std::vector<Tensor> views, bool is_differentiable,
                                      CreationMeta creation_meta = CreationMeta::kMultiOutputNode);

// ---- errors -------------------------------------------------------------------------------------------------------
/// `name` is the operator's. Called when an out= form has an argument that requires grad.
[[noreturn]] SHUNT_API void throw_error_out_requires_grad(const char* name);
/// `name` is the operator's. `argument` requires grad, but the operator has no derivative for it.
[[noreturn]] SHUNT_API void throw_error_for_nondifferentiable(const char* name, const char* argument);
/// Throws for an argument that requires grad, while grad mode is on.
inline void check_no_requires_grad(const Tensor& t, const char* argument, const char* name) {
  if (GradMode::is_enabled() && any_requires_grad(t)) throw_error_for_nondifferentiable(name, argument);
}
inline void check_no_requires_grad(const std::optional<Tensor>& t, const char* argument, const char* name) {
  if (t) check_no_requires_grad(*t, argument, name);
}

/// The node of an output whose operator has no derivative. Backward through it throws and names the operator.
struct SHUNT_API NotImplemented : public Node {
  NotImplemented(std::string op, edge_list&& next_edges) : Node(std::move(next_edges)), op_(std::move(op)) {}
  variable_list apply(variable_list&& grads) override;
  std::string name() const override { return "NotImplemented"; }

 private:
  std::string op_;
};

// ---- inside generated apply() -------------------------------------------------------------------------------------
/// Assigns each input its positions in the list of gradients that apply returns.
struct IndexRangeGenerator {
  using Range = std::pair<size_t, size_t>;  // first position, and the one after the last
  /// The next `n` positions: 1 for a tensor, its length for a list.
  Range range(size_t n) {
    const size_t first = next_;
    next_ += n;
    return {first, next_};
  }
  size_t size() const { return next_; }

 private:
  size_t next_ = 0;
};
using IndexRange = IndexRangeGenerator::Range;  // also AutogradContext::needs_input_grad's

/// Stores one input's gradients at `range` of apply's result. `out` is long enough; `list` has the range's length.
inline void copy_range(variable_list& out, IndexRange range, const Tensor& t) { out[range.first] = t; }
inline void copy_range(variable_list& out, IndexRange range, const std::vector<Tensor>& list) {
  for (size_t i = 0; i < list.size(); ++i) out[range.first + i] = list[i];
}
/// Whether apply has anything to do: an undefined gradient stands for zero.
inline bool any_grad_defined(const variable_list& grads) {
  for (const Tensor& g : grads)
    if (g.defined()) return true;
  return false;
}
/// apply's result when none of its gradients is defined.
inline variable_list undefined_grads(size_t n) { return variable_list(n); }

}  // namespace shunt::autograd
