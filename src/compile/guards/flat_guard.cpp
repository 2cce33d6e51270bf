#include "src/compile/guards/flat_guard.h"

#include "src/autograd/storage_and_grad.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

namespace shunt::compiled {
namespace {

SHUNT_ALWAYS_INLINE bool areEqual(const int64_t* a, const int64_t* b, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

/// The storages of a call's arguments; few are compared one by one.
class FewStorages {
 public:
  static constexpr size_t kMost = 8;

  bool holds(const StorageImpl* storage) const {
    for (size_t i = 0; i < count_; ++i)
      if (storages_[i] == storage) return true;
    return false;
  }
  /// False: it is there already.
  bool add(const StorageImpl* storage) {
    if (holds(storage)) return false;
    storages_[count_++] = storage;
    return true;
  }

 private:
  const StorageImpl* storages_[kMost];
  size_t count_ = 0;
};

/// The same for many, as a hash table whose places are mostly empty. What a call of 20 arguments and 60 captured
/// tensors compares would else be twice the rest of its guard.
class ManyStorages {
 public:
  explicit ManyStorages(size_t count) : shift_(64 - std::bit_width(2 * count)) {
    const size_t places = size_t{1} << (64 - shift_);
    if (places > kInline) places_ = (large_ = std::make_unique_for_overwrite<const StorageImpl*[]>(places)).get();
    std::fill_n(places_, places, nullptr);
  }
  bool holds(const StorageImpl* storage) const { return places_[find(storage)] == storage; }
  bool add(const StorageImpl* storage) {
    const StorageImpl*& place = places_[find(storage)];
    return std::exchange(place, storage) == nullptr;
  }

 private:
  static constexpr size_t kInline = 256;

  /// Its place, or the empty one that it would have.
  size_t find(const StorageImpl* storage) const {
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // of 64 bits: neighbours end far from each other
    const size_t last = (size_t{1} << (64 - shift_)) - 1;
    size_t i = reinterpret_cast<uintptr_t>(storage) * kGolden >> shift_;
    while (places_[i] != nullptr && places_[i] != storage) i = (i + 1) & last;
    return i;
  }

  int shift_;
  const StorageImpl* inline_[kInline];
  std::unique_ptr<const StorageImpl*[]> large_;
  const StorageImpl** places_ = inline_;
};

}  // namespace

bool FlatGuard::describe(const Tensor& t, const TensorKind& kind, Shape& out) {
  if (kind.sizes.size() > SizesAndStrides::kInline) return false;
  out.keys = kind.keys.raw();
  out.signature = t.unsafeGetTensorImpl()->signature();
  out.dim = static_cast<uint8_t>(kind.sizes.size());
  out.device_index = kind.device.index();
  out.wrapped_number = kind.wrapped_number;
  out.offset = kind.offset;
  std::ranges::copy(kind.sizes, out.sizes);
  std::ranges::copy(kind.strides, out.strides);
  out.strides_follow = detail::signature::layoutOf(out.signature) == LayoutClass::kContiguous &&
                       std::ranges::none_of(kind.sizes, [](int64_t n) { return n <= 1; });
  return true;
}

bool FlatGuard::add(const Tensor& t, const TensorKind& kind, size_t i) {
  if (!kind.defined || (!kind.is_leaf && kind.grad != nullptr) || kind.same != i || kind.home != i ||
      kind.storage == nullptr)
    return false;
  Words words;
  if (!describe(t, kind, words.shape)) return false;
  words.requires_grad = kind.requires_grad;
  words.is_leaf = kind.is_leaf;
  words.storage = kind.storage;
  if (kind.grad != nullptr) {
    const Tensor& grad = *autograd::gradOf(t);
    Shape shape;
    if (kind.grad->requires_grad || !kind.grad->is_leaf || kind.grad->storage == nullptr ||
        !describe(grad, *kind.grad, shape))
      return false;
    words.grad = static_cast<int>(grads_.size());
    grads_.push_back(shape);
  }
  words_.push_back(words);
  return true;
}

void FlatGuard::make(const detail::CompileArguments& arguments, std::span<const TensorKind> kinds,
                     std::span<const Tensor> captured, const Graph::Modes& modes, bool offsets) {
  words_.clear();
  grads_.clear();
  given_ = arguments.tensors.size();
  offsets_ = offsets;
  usable_ = modes_.describe(modes);
  for (size_t i = 0; usable_ && i < kinds.size(); ++i)
    usable_ = add(i < given_ ? *arguments.tensors[i] : captured[i - given_], kinds[i], i);
}

SHUNT_ALWAYS_INLINE bool FlatGuard::isLike(const Shape& shape, const TensorImpl& impl) const {
  if (impl.key_set().raw() != shape.keys || impl.signature() != shape.signature ||
      impl.device().index() != shape.device_index || impl.is_wrapped_number() != shape.wrapped_number ||
      (offsets_ && impl.storage_offset() != shape.offset))
    return false;
  const IntArrayRef sizes = impl.sizes();
  if (sizes.size() != shape.dim || !areEqual(sizes.data(), shape.sizes, shape.dim)) return false;
  return shape.strides_follow || areEqual(impl.strides().data(), shape.strides, shape.dim);
}

SHUNT_ALWAYS_INLINE bool FlatGuard::holds(const Words& words, const TensorImpl& impl,
                                          const detail::CompileArguments& arguments) const {
  if (!isLike(words.shape, impl)) return false;
  const AutogradMetaInterface* meta = impl.autograd_meta();
  return meta == nullptr ? !words.requires_grad && words.is_leaf && words.grad < 0 : gradHolds(words, *meta, arguments);
}

/// Whether the tensor is a leaf without hooks that requires grad, or not, as it did, and its grad is the like; or
/// whether an operator gave it, as then.
bool FlatGuard::gradHolds(const Words& words, const AutogradMetaInterface& of_tensor,
                          const detail::CompileArguments& arguments) const {
  const auto& meta = static_cast<const autograd::AutogradMeta&>(of_tensor);
  if (!words.is_leaf) return meta.grad_fn_.defined() && !meta.is_view_ && !meta.grad_.defined();
  // Those of a view that requires grad are found out in full. Where there is an accumulator, so may be hooks on it.
  if ((meta.is_view_ && meta.requires_grad()) || meta.requires_grad_ != words.requires_grad ||
      meta.grad_fn_.defined() || meta.hooks_ != nullptr || !meta.grad_accumulator_.expired())
    return false;
  if (!meta.grad_.defined()) return words.grad < 0;
  if (words.grad < 0) return false;
  const TensorImpl& grad = *meta.grad_.unsafeGetTensorImpl();
  if (!isLike(grads_[static_cast<size_t>(words.grad)], grad) || grad.autograd_meta() != nullptr) return false;
  // Nobody else may have it or its memory. An argument may be this very handle, which isn't counted.
  if (!meta.grad_.getIntrusivePtr().unique() || !grad.storage().unique()) return false;
  return std::ranges::none_of(arguments.tensors, [&](const Tensor* t) { return t == &meta.grad_; });
}

template <class Storages>
SHUNT_ALWAYS_INLINE bool FlatGuard::tensorsHold(Storages&& storages, const detail::CompileArguments& arguments,
                                                std::span<const Tensor> captured) const {
  const Words* words = words_.data();
  for (const Tensor* t : arguments.tensors) {
    const TensorImpl* impl = t->unsafeGetTensorImpl();
    if (impl == nullptr || !this->holds(*words++, *impl, arguments)) return false;
    const StorageImpl* mine = impl->storage().get();
    if (mine == nullptr || !storages.add(mine)) return false;
  }
  // Captured tensors are the same ones as ever, and while their storages are, they are apart from each other.
  for (const Tensor& t : captured) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    const StorageImpl* mine = impl.storage().get();
    if (mine != words->storage || storages.holds(mine) || !this->holds(*words, impl, arguments)) return false;
    ++words;
  }
  return true;
}

bool FlatGuard::tensorsHold(const detail::CompileArguments& arguments, std::span<const Tensor> captured) const {
  if (given_ + captured.size() != words_.size()) return false;
  if (given_ <= FewStorages::kMost) return tensorsHold(FewStorages(), arguments, captured);
  return tensorsHold(ManyStorages(given_), arguments, captured);
}

}  // namespace shunt::compiled
