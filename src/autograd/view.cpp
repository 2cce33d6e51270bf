// Differentiable views: which base they are of, and their history when base or view is written.
#include <shunt/autograd/as_strided_backward.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>

#include "src/autograd/hooks.h"
#include "src/autograd/restricted_view.h"
#include "src/autograd/storage_and_grad.h"
#include "src/autograd/view_node.h"

namespace shunt {
namespace autograd {
namespace {

// Of a view whose base got a new history: stands for whatever operator made the view.
struct AsStridedBackward0 final : public Node {
  AsStridedBackward0(TensorGeometry base, TensorGeometry view, const Tensor& like, Edge base_edge)
      : input_(std::move(base)), view_(std::move(view)) {
    add_next_edge(std::move(base_edge));
    add_input_metadata(like);
  }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined() || !task_should_compute_output(0)) return variable_list(1);
    return {as_strided_backward(std::move(grads[0]), input_, view_)};
  }

 private:
  TensorGeometry input_;
  TensorGeometry view_;
};

}  // namespace

intrusive_ptr<Node> make_view_node(TensorGeometry base, TensorGeometry view, const Tensor& like, Edge base_edge) {
  return make_intrusive<AsStridedBackward0>(std::move(base), std::move(view), like, std::move(base_edge));
}

namespace {

void regenerateGradFn(const Tensor& view, DifferentiableViewMeta& meta) {
  if (meta.creation_meta_ != CreationMeta::kDefault) throwRestrictedView(meta, true);
  if (meta.view_func_) {
    EnableGradGuard grad;
    const Tensor again = meta.view_func_(meta.base_);
    meta.grad_fn_ = again.grad_fn();
    meta.output_nr_ = outputNrOf(again);
  } else {
    meta.grad_fn_ = make_view_node(TensorGeometry(meta.base_), view, gradient_edge(meta.base_));
    meta.output_nr_ = 0;
  }
  meta.attr_version_ = view.unsafeGetTensorImpl()->version().current();
  if (meta.hooks_ || meta.retains_grad_) moveHooks(view, meta);
}

ViewFunc chain(const ViewFunc& outer, const Tensor& outer_view, const ViewFunc& inner, const Tensor& inner_view) {
  if (!outer && !inner) return nullptr;
  // Where one of the two is an as_strided, it is repeated relative to what the other gives.
  const auto strided = [](const Tensor& view) -> ViewFunc {
    return [g = TensorGeometry(view)](const Tensor& t) { return t.as_strided(g.sizes, g.strides, g.storage_offset); };
  };
  return [outer = outer ? outer : strided(outer_view),
          inner = inner ? inner : strided(inner_view)](const Tensor& base) { return inner(outer(base)); };
}

}  // namespace

CreationMeta current_creation_meta() {
  if (InferenceMode::is_enabled()) return CreationMeta::kInferenceMode;
  return GradMode::is_enabled() ? CreationMeta::kDefault : CreationMeta::kNoGradMode;
}

Tensor as_view(const Tensor& base, Tensor view, bool is_differentiable, CreationMeta creation_meta,
               ViewFunc view_func) {
  if (base.is_inference() || !view.defined()) return view;
  // An operator that had nothing to do may hand back its argument, which keeps its own history.
  if (get_autograd_meta(view) != nullptr || view.is_same(base)) view = detached_alias(view);
  TensorImpl* impl = view.unsafeGetTensorImpl();
  // A view of a transform's wrapper, or of a KernelClass, is one with a storage of its own.
  constexpr DispatchKeySet kApart =
      DispatchKeySet::of(Functionality::TransformBack) | DispatchKeySet::of(Functionality::PythonKernel);
  if (base.unsafeGetTensorImpl()->has_own_version_counter() || base.key_set().hasAny(kApart))
    impl->share_version_counter_of(*base.unsafeGetTensorImpl());
  if (!is_differentiable) return view;
  const DifferentiableViewMeta* outer = get_view_autograd_meta(base);
  if (outer != nullptr) {
    if (creation_meta == CreationMeta::kDefault || outer->creation_meta_ == CreationMeta::kInferenceMode)
      creation_meta = outer->creation_meta_;
    view_func = chain(outer->view_func_, base, view_func, view);
  }
  const Tensor& root = outer != nullptr ? outer->base_ : base;
  impl->set_autograd_meta(
      std::make_unique<DifferentiableViewMeta>(root, std::move(view_func), creation_meta, impl->version().current()));
  if (view.is_floating_point()) set_autograd_key(view, true);
  return view;
}

std::vector<Tensor> as_view(const Tensor& base, std::vector<Tensor> views, bool is_differentiable,
                            CreationMeta creation_meta) {
  for (Tensor& view : views) view = as_view(base, std::move(view), is_differentiable, creation_meta);
  return views;
}

}  // namespace autograd

using namespace autograd;

const intrusive_ptr<Node>& Tensor::grad_fn() const {
  static const intrusive_ptr<Node> kNone;
  AutogradMeta* meta = static_cast<AutogradMeta*>(impl().autograd_meta());
  if (meta == nullptr) return kNone;
  if (!meta->is_view_) return meta->grad_fn_ || !forwards_graph(*this) ? meta->grad_fn_ : graph_tensor(*this).grad_fn();
  auto* view = static_cast<DifferentiableViewMeta*>(meta);
  std::lock_guard lock(view->mutex_);
  if (!view->grad_fn_ && !view->base_.requires_grad()) return view->grad_fn_;
  if (view->attr_version_ != impl().version().current()) regenerateGradFn(*this, *view);
  return view->grad_fn_;
}

// Never throws, and so asks grad_fn() for nothing: what can't be followed any more answers with the history that it
// had.
bool Tensor::is_leaf() const {
  const auto* meta = static_cast<const AutogradMeta*>(impl().autograd_meta());
  if (meta == nullptr) return true;
  if (!meta->is_view_) return !meta->grad_fn_ && (!forwards_graph(*this) || graph_tensor(*this).is_leaf());
  const auto* view = static_cast<const DifferentiableViewMeta*>(meta);
  std::lock_guard lock(view->mutex_);
  if (view->grad_fn_ || !view->base_.requires_grad()) return !view->grad_fn_;
  return view->creation_meta_ != CreationMeta::kDefault || view->attr_version_ == impl().version().current();
}

bool Tensor::is_view() const { return impl_.defined() && get_view_autograd_meta(graph_tensor(*this)) != nullptr; }

const Tensor& Tensor::_base() const {
  const DifferentiableViewMeta* view = impl_.defined() ? get_view_autograd_meta(graph_tensor(*this)) : nullptr;
  SHUNT_CHECK(view != nullptr, "Can't get base of non-view tensor");
  return view->base_;
}

}  // namespace shunt
