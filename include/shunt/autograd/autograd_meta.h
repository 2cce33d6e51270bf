// AutogradMeta: a tensor's autograd metadata, created when the tensor first needs any.
//
// The TensorImpl owns it. DifferentiableViewMeta is the metadata of a view and also names the view's base. Several
// threads may read it. Reading may create the accumulator or a view's new grad_fn; both happen under the mutex. Only
// one thread at a time may change it (requires_grad_, set_history, in-place operators).
#pragma once

#include <shunt/autograd/node.h>
#include <shunt/core/word_mutex.h>

#include <mutex>

namespace shunt::autograd {

/// Hooks on one tensor's gradient. The tensor and its node share them.
struct TensorHooks {
  HookList<std::function<Tensor(const Tensor&)>> hooks;
  HookList<std::function<void(const Tensor&)>> post_accumulate;  // leaves only; each gets the leaf
};

struct SHUNT_API AutogradMeta : public AutogradMetaInterface {
  AutogradMeta() noexcept = default;
  /// The metadata of output `output_nr` of `grad_fn`.
  AutogradMeta(intrusive_ptr<Node>&& grad_fn, uint32_t output_nr) noexcept
      : grad_fn_(std::move(grad_fn)), output_nr_(output_nr) {}
  ~AutogradMeta() override;
  // Every view and every recorded result has one, so its memory comes from the allocator of tensors.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept;

  bool requires_grad() const override { return requires_grad_ || grad_fn_.defined(); }

  Tensor grad_;
  intrusive_ptr<Node> grad_fn_;
  weak_intrusive_ptr<Node> grad_accumulator_;
  std::shared_ptr<TensorHooks> hooks_;
  mutable WordMutex mutex_;
  uint32_t output_nr_ = 0;
  bool requires_grad_ = false;  // leaves only
  bool retains_grad_ = false;
  bool is_view_ = false;
};
static_assert(sizeof(AutogradMeta) <= 64, "one cache line, which is one block");

/// How a view was made. A recorded in-place operator on the view throws for every value except kDefault.
enum class CreationMeta : uint8_t { kDefault, kInCustomFunction, kMultiOutputNode, kNoGradMode, kInferenceMode };

/// Repeats a view on another base of the same shape.
using ViewFunc = std::function<Tensor(const Tensor& base)>;

/// The metadata of a differentiable view. Owns a reference to the base.
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
  ViewFunc view_func_;     // null: as_strided repeats the view
  uint32_t attr_version_;  // the version for which grad_fn_ is valid
  CreationMeta creation_meta_;
};

/// The tensor's metadata; null when it has none. `t` must be defined.
inline AutogradMeta* get_autograd_meta(const Tensor& t) {
  return static_cast<AutogradMeta*>(t.unsafeGetTensorImpl()->autograd_meta());
}
/// The view's metadata; null unless `t` is a differentiable view.
inline DifferentiableViewMeta* get_view_autograd_meta(const Tensor& t) {
  AutogradMeta* meta = get_autograd_meta(t);
  return meta != nullptr && meta->is_view_ ? static_cast<DifferentiableViewMeta*>(meta) : nullptr;
}
/// The tensor's metadata, created if it has none. Not for concurrent use on one tensor.
SHUNT_API AutogradMeta* materialize_autograd_meta(const Tensor& t);

/// An alias of `t` without autograd metadata. Shares data and version counter.
inline Tensor detached_alias(const Tensor& t) {
  const TensorImpl& from = *t.unsafeGetTensorImpl();
  return Tensor(make_intrusive<TensorImpl>(from, from.key_set() - kAutogradKeys));
}

}  // namespace shunt::autograd
