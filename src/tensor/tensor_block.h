// TensorBlock: a tensor, its storage header and its data in one allocation (tensor_impl.h, Note [One block]).
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <cstddef>
#include <new>

namespace shunt {

struct IntrusiveAccess {
  /// Exactly one strong reference and no weak one: nobody else can get at the object.
  static bool alone(const intrusive_ptr_target& t) {
    return t.counts_.load(std::memory_order_acquire) == intrusive_ptr_target::kAlone;
  }
  static bool hasOneOwner(const intrusive_ptr_target& t) { return t.strongCount() == 1; }
  /// One more strong reference, for the caller, to an object that is alone and that only this thread can get at. A
  /// plain store, where counting takes a locked instruction: nobody else can change the count meanwhile. Relaxed, as
  /// counting up is: whoever gets a reference from this thread gets it by what publishes it to him.
  template <class T>
  static T* shareAlone(T* t) {
    t->counts_.store(intrusive_ptr_target::kAlone + intrusive_ptr_target::kStrong, std::memory_order_relaxed);
    return t;
  }
  /// A weak reference more to an object that has one, and the end of it.
  static void retainWeak(const intrusive_ptr_target& t) { t.retainWeak(); }
  static void releaseWeak(const intrusive_ptr_target& t) { t.releaseWeak(); }
};

/// The keys of a tensor of that backend that does not require grad, outside of inference mode.
constexpr DispatchKeySet ordinaryKeys(BackendComponent backend) {
  const DispatchKeySet ks =
      DispatchKeySet(toRuntimeKey(Functionality::Dense, backend)).add(DispatchKey::ADInplaceOrView);
  const DispatchKey autocast = autocastKeyOf(backend);
  return autocast != DispatchKey::Undefined ? ks.add(autocast) : ks;
}

struct TensorBlock {
  std::atomic<uint32_t> parts{2};  // how many of tensor and storage still live
  size_t bytes;
  union {
    TensorImpl tensor;
  };
  union {
    StorageImpl storage;
  };

  explicit TensorBlock(size_t n) : bytes(n) {}
  ~TensorBlock() {}

  static constexpr size_t dataOffset();
  /// Row-major dimensions for `sizes`, which are not negative: the end of every factory, so in one pass.
  SHUNT_ALWAYS_INLINE static void setSizesContiguous(TensorImpl& t, IntArrayRef sizes) {
    t.dims_.resize(sizes.size());
    int64_t* out_sizes = t.dims_.sizesData();
    int64_t* out_strides = t.dims_.stridesData();
    int64_t stride = 1, numel = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      out_sizes[d] = sizes[d];
      out_strides[d] = stride;
      stride *= sizes[d] > 1 ? sizes[d] : 1;
      numel *= sizes[d];
    }
    t.numel_ = numel;
    t.is_contiguous_ = true;
    t.setSignature(numel == 1 ? LayoutClass::kOneElement : LayoutClass::kContiguous);
  }
  static void markInBlock(StorageImpl& s) { s.in_block_ = true; }
  std::byte* inlineData();
  static TensorBlock* of(TensorImpl* t);
  static TensorBlock* of(StorageImpl* s);

  /// One part has been destroyed. The last one frees the memory.
  void endPart() noexcept {
    if (parts.load(std::memory_order_acquire) == 1 || parts.fetch_sub(1, std::memory_order_acq_rel) == 1) freeMemory();
  }
  void freeMemory() noexcept { detail::freeBlock(this, bytes); }
};

constexpr size_t TensorBlock::dataOffset() {
  return (sizeof(TensorBlock) + detail::kBlockAlignment - 1) / detail::kBlockAlignment * detail::kBlockAlignment;
}
inline std::byte* TensorBlock::inlineData() { return reinterpret_cast<std::byte*>(this) + dataOffset(); }

// The parts' offsets, measured on the type: both classes have virtual functions, so offsetof is conditionally
// supported; clang and gcc support it for them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline TensorBlock* TensorBlock::of(TensorImpl* t) {
  return reinterpret_cast<TensorBlock*>(reinterpret_cast<std::byte*>(t) - offsetof(TensorBlock, tensor));
}
inline TensorBlock* TensorBlock::of(StorageImpl* s) {
  return reinterpret_cast<TensorBlock*>(reinterpret_cast<std::byte*>(s) - offsetof(TensorBlock, storage));
}
#pragma GCC diagnostic pop

}  // namespace shunt
