// The wrapper of Note [Functional tensors] (shunt/transforms/functionalize.h) and what its aliases share.
// One base and its aliases are for one thread at a time.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt::functional {

/// While it lives, the mode is off on this thread: what Functionalize calls below are ordinary calls.
class ModeOff {
 public:
  ModeOff() : saved_(detail::tls_state.included) {
    detail::tls_state.included &= ~DispatchKeySet::of(Functionality::Functionalize).raw();
  }
  ~ModeOff() { detail::tls_state.included = saved_; }
  ModeOff(const ModeOff&) = delete;
  ModeOff& operator=(const ModeOff&) = delete;

 private:
  uint64_t saved_;
};

/// Calls an operator that writes nothing on values; every call that Functionalize makes below goes through here.
void callBelow(const OperatorHandle& op, Stack& stack);

/// One view operator of a chain.
struct Link {
  OperatorHandle op;
  Stack args;      // with nothing in the place of the tensor that is viewed
  size_t self;     // that place
  size_t output;   // which of the results, where there are several
  bool grad_mode;  // of the thread that made the view
  bool changes_dtype;
  // t_ and the like: the tensor itself has another shape since. Nothing is cut off the graph, whatever the thread's
  // grad mode was.
  bool in_place = false;

  Tensor apply(const Tensor& t) const;
};
/// The link for any view of the same dtype.
Link stridedLink(IntArrayRef sizes, IntArrayRef strides, int64_t offset);

/// What aliases share.
class Base : public intrusive_ptr_target {
 public:
  explicit Base(Tensor value);
  /// The value now. Nobody writes it.
  const Tensor& value();
  /// The next generation. `next` has the value's geometry and graph, or under no_grad no graph: then it gets the
  /// value's place in it. `detached`: what wrote it is no part of any graph, of levels further out neither.
  void replace(Tensor next, bool detached = false);
  /// The leaf whose value or shape was replaced under no_grad, which keeps grad and accumulator; undefined otherwise.
  const Tensor& leaf() const { return leaf_; }
  /// An in-place view operator gave the tensor that the leaf stands for this shape: its gradients will have it too.
  void reshapeLeaf(const TensorImpl& shape);
  /// `value` with the leaf's place in the graph, where there is a leaf.
  Tensor atLeaf(Tensor value) const;
  uint64_t generation() const { return generation_; }
  /// Whether the value is still the user's own tensor, which functionalize() will write at the end.
  bool isInput() const { return is_input_ && generation_ == 0; }
  void setInput() { is_input_ = true; }
  /// Both have values in one memory, neither of which can be had from the other: after a write to one, value() of the
  /// other throws.
  void beRivalOf(Base& other);
  /// Where it was made, in what level of vmap and grad (src/transforms/vmap/levels.h).
  uint64_t level() const { return level_; }
  bool isUsable() const { return writer_ == nullptr || *writer_ == nullptr || *writer_ == this; }
  /// Without data: tells aliases from others.
  const Storage& storage() const { return storage_; }

 protected:
  void release_resources() override;

 private:
  Tensor value_;
  Tensor leaf_;
  uint64_t generation_ = 0;
  bool is_input_ = false;
  Storage storage_;
  const uint64_t level_;
  std::shared_ptr<const Base*> writer_;  // the one of all rivals that was written; null: none was
};

class FunctionalTensor final : public TensorImpl {
 public:
  FunctionalTensor(intrusive_ptr<Base> base, std::vector<Link> chain, Tensor value);

  const Tensor& value() const;
  const Tensor* graph_tensor() const override;
  Base& base() const { return *base_; }
  const intrusive_ptr<Base>& sharedBase() const { return base_; }
  const std::vector<Link>& chain() const { return chain_; }
  /// Whether it is what the base is, in another shape perhaps, and no view.
  bool isItself() const { return itself_ == chain_.size(); }

  /// A link more: this tensor is a view of what it was.
  void append(Link link);
  /// New sizes and strides on the same storage, which grows where it has to.
  void resize(IntArrayRef sizes, IntArrayRef strides, int64_t offset, int64_t nbytes);
  /// The new value, of this tensor's sizes and dtype; the base's and all aliases' changes.
  void write(const Tensor& next);
  /// The same tensor, as an alias of another base.
  void rebase(intrusive_ptr<Base> base, std::vector<Link> chain);

 protected:
  void release_resources() override;

 private:
  Tensor upTo(size_t links) const;
  bool isDetached() const;
  void followValue();
  intrusive_ptr<Base> base_;
  std::vector<Link> chain_;
  size_t itself_ = 0;  // so many links at the front are in place
  mutable Tensor value_;
  mutable uint64_t generation_;
};

/// Null for tensors of other kinds.
FunctionalTensor* functionalOf(const Tensor& t);
/// Whether it was made in a level of vmap and grad in which the innermost one runs: no business of this level.
bool isFromFurtherOut(const FunctionalTensor& t);
/// A functional tensor with a base of its own.
Tensor wrapValue(const Tensor& value);
/// An alias of `of`: one link more. `value` is what the link shows.
Tensor wrapView(const FunctionalTensor& of, Link link, const Tensor& value);

/// The size of the memory that `value` lies in. Of a wrapper, whose own storage is empty, that of the tensor with its
/// shape inside, or what its shape spans.
size_t storageBytes(const Tensor& value);
/// Of a TensorSubclass, or of a trace.
inline bool isWrapper(const Tensor& t) {
  const WrapperKind kind = wrapperKind(t);
  return kind == WrapperKind::kSubclass || kind == WrapperKind::kTraced;
}
/// By a stride of 0, as expanded tensors do.
bool repeatsElements(IntArrayRef sizes, IntArrayRef strides);
inline bool repeatsElements(const Tensor& t) { return repeatsElements(t.sizes(), t.strides()); }
/// A plain tensor and a wrapper of an alias of it do too.
bool sharesMemory(const Tensor& a, const Tensor& b);
/// Without graph. A wrapper's class makes another wrapper.
Tensor detachedAlias(const Tensor& value);

inline bool sameGeometry(const TensorImpl& a, const TensorImpl& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() && a.storage_offset() == b.storage_offset();
}

}  // namespace shunt::functional
