// What makes a tensor part of a graph: its autograd metadata, its gradient edge, and the nodes that are set on results.
#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>

#include "src/autograd/copy_slices.h"
#include "src/autograd/hooks.h"
#include "src/autograd/restricted_view.h"
#include "src/tensor/free_lists.h"

namespace shunt::autograd {

void AutogradMeta::operator delete(void* p, size_t nbytes) noexcept {
  if (!shunt::detail::isFine(nbytes) || !shunt::detail::giveFine(p, nbytes)) shunt::detail::freeBlock(p, nbytes);
}

AutogradMeta::~AutogradMeta() = default;

void set_autograd_key(const Tensor& t, bool on) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  const DispatchKeySet ks = impl->key_set();
  impl->set_key_set(on ? with_autograd_key(ks) : ks - kAutogradKeys);
}

AutogradMeta* materialize_autograd_meta(const Tensor& t) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl->autograd_meta() == nullptr) impl->set_autograd_meta(std::make_unique<AutogradMeta>());
  return get_autograd_meta(t);
}

intrusive_ptr<Node> grad_accumulator(const Tensor& t) {
  const Tensor& leaf = graph_tensor(t);
  AutogradMeta* meta = get_autograd_meta(leaf);
  if (meta == nullptr || !meta->requires_grad_) return {};
  SHUNT_INTERNAL_ASSERT(!meta->grad_fn_, "grad_accumulator of a tensor that is not a leaf");
  std::lock_guard lock(meta->mutex_);
  if (auto existing = meta->grad_accumulator_.lock()) return existing;
  intrusive_ptr<Node> made = make_intrusive<AccumulateGrad>(leaf);
  meta->grad_accumulator_ = weak_intrusive_ptr<Node>(made);
  return made;
}

Edge impl::edge_of_leaf_or_view(const Tensor& t) {
  if (forwards_graph(t)) return gradient_edge(graph_tensor(t));
  const AutogradMeta* meta = get_autograd_meta(t);
  if (const auto& grad_fn = meta->is_view_ ? t.grad_fn() : meta->grad_fn_) return Edge(grad_fn, meta->output_nr_);
  return Edge(grad_accumulator(t), 0);
}

void set_gradient_edge(const Tensor& t, Edge edge) {
  AutogradMeta* meta = materialize_autograd_meta(t);
  const bool moved = edge.function != meta->grad_fn_;
  meta->grad_fn_ = std::move(edge.function);
  meta->output_nr_ = edge.input_nr;
  if (meta->is_view_)
    static_cast<DifferentiableViewMeta*>(meta)->attr_version_ = t.unsafeGetTensorImpl()->version().current();
  set_autograd_key(t, true);
  if (moved && (meta->hooks_ || meta->retains_grad_)) [[unlikely]]
    moveHooks(t, *meta);
}

void set_history(const Tensor& output, const intrusive_ptr<Node>& node) {
  if (output.defined() && output.is_floating_point())
    set_gradient_edge(output, Edge(node, node->add_input_metadata(output)));
  else
    node->add_undefined_input();
}

namespace {

SHUNT_ALWAYS_INLINE std::unique_ptr<AutogradMeta> makeMeta(intrusive_ptr<Node>&& node, uint32_t output_nr) {
  void* memory = shunt::detail::takeFine(sizeof(AutogradMeta));
  if (memory == nullptr) [[unlikely]]
    memory = shunt::detail::allocateBlock(sizeof(AutogradMeta));
  return std::unique_ptr<AutogradMeta>(::new (memory) AutogradMeta(std::move(node), output_nr));
}

/// What nearly every recorded result needs. Inline in both of its callers, of which one runs for every call.
SHUNT_ALWAYS_INLINE void takeHistory(const Tensor& output, intrusive_ptr<Node>&& node) {
  TensorImpl* impl = output.unsafeGetTensorImpl();
  if (impl == nullptr || impl->autograd_meta() != nullptr || !isFloatingType(impl->dtype())) [[unlikely]]
    return set_history(output, static_cast<const intrusive_ptr<Node>&>(node));
  const uint32_t output_nr = node->add_input_metadata(output);
  auto meta = makeMeta(std::move(node), output_nr);
  if (impl->autograd_meta() != nullptr) __builtin_unreachable();  // none to destroy, as seen above
  impl->set_autograd_meta(std::move(meta));
  impl->set_key_set(with_autograd_key(impl->key_set()));
}

}  // namespace

void set_history(const Tensor& output, intrusive_ptr<Node>&& node) { takeHistory(output, std::move(node)); }

void record_output(const Tensor& output, Node* owned) { takeHistory(output, intrusive_ptr<Node>::reclaim(owned)); }

void set_history(const std::vector<Tensor>& outputs, const intrusive_ptr<Node>& node) {
  for (const Tensor& output : outputs) set_history(output, node);
}

// Note [In-place cycles]
// A node keeps an operand as it is (saved_variable.h). If that operand is then changed in place by an operator whose
// other operands depend on the node, as in y = h * w; h.add_(y), then h's history leads to the node, and the node keeps
// h: a cycle of references, as in PyTorch (seen with 1.13). backward() breaks it, as nodes free what they have saved,
// and so does h.detach_(). A program that does neither, or whose backward() ends with the error about h's version,
// keeps that part of the graph. To keep operands without their history would cost a tensor for each; to look for the
// node here would walk graphs that another thread may be running backward through.
void rebase_history(const Tensor& self, intrusive_ptr<Node> node) {
  if (!self.defined() || !self.is_floating_point()) {  // a graph ends where it is copied into whole numbers
    node->add_undefined_input();
    return;
  }
  const uint32_t output_nr = node->add_input_metadata(self);
  const DifferentiableViewMeta* view = get_view_autograd_meta(self);
  if (view == nullptr) return set_gradient_edge(self, Edge(std::move(node), output_nr));
  SHUNT_INTERNAL_ASSERT(output_nr == 0, "an in-place operator on a view has one output");
  const Tensor& base = view->base_;
  set_gradient_edge(base, Edge(make_intrusive<CopySlices>(base, self, view->view_func_, std::move(node)), 0));
  self.grad_fn();  // its own history starts anew at the base's
}

void rebase_history(TensorList selves, const intrusive_ptr<Node>& node) {
  for (const Tensor& self : selves) rebase_history(self, node);
}

void check_inplace(const Tensor& t, bool requires_grad) {
  if (!t.defined()) return;
  SHUNT_CHECK(
      !t.is_inference() || InferenceMode::is_enabled(),
      "Inplace update to inference tensor outside InferenceMode is not allowed. Clone it and change the clone.");
  if (!requires_grad || !GradMode::is_enabled()) return;
  const DifferentiableViewMeta* view = get_view_autograd_meta(t);
  if (view != nullptr) {
    if (view->creation_meta_ != CreationMeta::kDefault) throwRestrictedView(*view, false);
    SHUNT_CHECK(!(t.requires_grad() && view->base_.is_leaf()),
                "a view of a leaf Variable that requires grad is being used in an in-place operation. Use the "
                "out-of-place form, or "
                "a NoGradGuard to change it without recording.");
  }
  SHUNT_CHECK(
      !(t.requires_grad() && t.is_leaf()),
      "a leaf Variable that requires grad is being used in an in-place operation. Use the out-of-place form, or a "
      "NoGradGuard to change it without recording.");
}

void check_inplace(TensorList list, bool requires_grad) {
  for (const Tensor& t : list) check_inplace(t, requires_grad);
}

void increment_version(const Tensor& t) {
  if (!t.defined()) return;
  TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl->is_inference()) [[unlikely]] {
    SHUNT_CHECK(
        InferenceMode::is_enabled(),
        "Inplace update to inference tensor outside InferenceMode is not allowed. Clone it and change the clone.");
    return;
  }
  impl->version().bump();
}

void increment_version(TensorList list) {
  for (const Tensor& t : list) increment_version(t);
}

void throw_error_out_requires_grad(const char* name) {
  SHUNT_CHECK(false, name,
              "(): functions with out=... arguments don't support automatic differentiation, but one of the "
              "arguments requires grad.");
  __builtin_unreachable();
}

void throw_error_for_nondifferentiable(const char* name, const char* argument) {
  SHUNT_CHECK(false, "the derivative for '", argument, "' of '", name,
              "' is not implemented. Call the operator with that argument detached");
  __builtin_unreachable();
}

variable_list NotImplemented::apply(variable_list&&) {
  throw NotImplementedError(shunt::detail::str("derivative for ", op_,
                                               " is not implemented. Register one for the key Autograd "
                                               "(docs/adding_an_operator.md), or detach() the operator's result"));
}

}  // namespace shunt::autograd
