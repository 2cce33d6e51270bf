// AutogradMeta: what a tensor carries for autograd, made when it first needs any. DifferentiableViewMeta: the same for
// a view, with the base it is a view of.
//
// Owned by the TensorImpl. Reading from several threads is safe, also where reading makes the accumulator or a view's
// new grad_fn: those two take the mutex. Changing (requires_grad_, set_history, in-place operators) is for one thread.
#pragma once

#include <shunt/autograd/node.h>
#include <shunt/core/word_mutex.h>

#include <mutex>

namespace shunt::autograd {

/// Hooks on one tensor's gradient, shared by its node.
struct TensorHooks {
  HookList<std::function<Tensor(const Tensor&)>> hooks;
  HookList<std::function<void(const Tensor&)>> post_accumulate;  // of leaves; they get the leaf
};

struct SHUNT_API AutogradMeta : public AutogradMetaInterface {
  AutogradMeta() noexcept = default;
  /// Of a node's output.
  AutogradMeta(intrusive_ptr<Node>&& grad_fn, uint32_t output_nr) noexcept
      : grad_fn_(std::move(grad_fn)), output_nr_(output_nr) {}
  ~AutogradMeta() override;
  // Every view and every recorded result has one, so it comes from where the tensor's own memory comes from.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept;

  bool requires_grad() const override { return requires_grad_ || grad_fn_.defined(); }

  Tensor grad_;
  intrusive_ptr<Node> grad_fn_;
  weak_intrusive_ptr<Node> grad_accumulator_;
  std::shared_ptr<TensorHooks> hooks_;
  mutable WordMutex mutex_;
  uint32_t output_nr_ = 0;
  bool requires_grad_ = false;  // of leaves
  bool retains_grad_ = false;
  bool is_view_ = false;
};
static_assert(sizeof(AutogradMeta) <= 64, "one cache line, which is one block");

/// How a view came about; everything but kDefault makes a recorded in-place operator on it an error.
enum class CreationMeta : uint8_t { kDefault, kInCustomFunction, kMultiOutputNode, kNoGradMode, kInferenceMode };

using ViewFunc = std::function<Tensor(const Tensor& base)>;

struct SHUNT_API DifferentiableViewMeta : public AutogradMeta {
  DifferentiableViewMeta(Tensor base, ViewFunc view_func, CreationMeta creation_meta, uint32_t version)
      : base_(std::move(base)),
        view_func_(std::move(view_func)),
        attr_version_(version),
        creation_meta_(creation_meta) {
    is_view_ = true;
  }
  bool requires_grad() const override { return AutogradMeta::requires_grad() || base_.requires_grad(); }

  Tensor base_;            // never itself a view
  ViewFunc view_func_;     // repeats the view on another base; null: as_strided does
  uint32_t attr_version_;  // the version for which grad_fn_ is right
  CreationMeta creation_meta_;
};

/// Null when the tensor has none.
inline AutogradMeta* get_autograd_meta(const Tensor& t) {
  return static_cast<AutogradMeta*>(t.unsafeGetTensorImpl()->autograd_meta());
}
/// Null unless the tensor is a differentiable view.
inline DifferentiableViewMeta* get_view_autograd_meta(const Tensor& t) {
  AutogradMeta* meta = get_autograd_meta(t);
  return meta != nullptr && meta->is_view_ ? static_cast<DifferentiableViewMeta*>(meta) : nullptr;
}
SHUNT_API AutogradMeta* materialize_autograd_meta(const Tensor& t);

/// An alias without autograd metadata that shares data, and the version counter too.
inline Tensor detached_alias(const Tensor& t) {
  const TensorImpl& from = *t.unsafeGetTensorImpl();
  return Tensor(make_intrusive<TensorImpl>(from, from.key_set() - kAutogradKeys));
}

}  // namespace shunt::autograd
