// TensorImpl: the object that a Tensor refers to: keyset, dtype, device, dimensions, storage, autograd metadata.
//
// Owned by reference count (intrusive_ptr.h). Several threads may read the metadata while no thread writes it. As in
// PyTorch, only operators called on a tensor (resize_, set_data, requires_grad_) change its metadata.
//
// Note [One block]
// An ordinary output tensor, its storage header and, if small, its data are one allocation: a TensorBlock. Tensor and
// storage have separate reference counts, since a view may keep the storage after the tensor is destroyed. The block's
// count (`parts`) is the number of the two that still live. The thread that takes it to zero frees the memory. Usually
// both end at once, and then no atomic is written.
#pragma once

#include <shunt/core/dispatch_key_set.h>
#include <shunt/tensor/foreign_object.h>
#include <shunt/tensor/layout.h>
#include <shunt/tensor/scalar_type.h>
#include <shunt/tensor/signature.h>
#include <shunt/tensor/sizes_and_strides.h>
#include <shunt/tensor/storage.h>

#include <memory>
#include <optional>

namespace shunt {

class Tensor;

/// Autograd's metadata of a tensor. Autograd has the only implementation (autograd/autograd_meta.h).
struct SHUNT_API AutogradMetaInterface {
  virtual ~AutogradMetaInterface() = default;
  /// Whether operators on the tensor record gradients.
  virtual bool requires_grad() const = 0;
};

class SHUNT_API TensorImpl : public intrusive_ptr_target {
 public:
  TensorImpl(Storage storage, DispatchKeySet keyset, ScalarType dtype);
  /// An alias of `base` with the given keys and no autograd metadata. Shares data and version counter.
  TensorImpl(const TensorImpl& base, DispatchKeySet keyset);
  /// For user-defined tensor classes that hold something other than elements. The tensor has sizes {0}, an empty
  /// storage, and the given keys plus those of Autograd and ADInplaceOrView. The device defaults to the CPU.
  TensorImpl(DispatchKeySet keyset, ScalarType dtype, std::optional<Device> device);
  struct InBlock {};
  /// For makeCpuTensor only. The object lives in a TensorBlock, and the caller sets the geometry.
  TensorImpl(InBlock, Storage storage, DispatchKeySet keyset, ScalarType dtype)
      : key_set_(keyset), storage_(std::move(storage)), dtype_(dtype), device_(storage_->device()), in_block_(true) {}
  ~TensorImpl() override;

  // The memory comes from the thread's free lists, for views as well.
  static void* operator new(size_t nbytes) { return detail::allocateBlock(nbytes); }
  static void* operator new(size_t, void* place) noexcept { return place; }
  static void operator delete(void* p, size_t nbytes) noexcept { detail::freeBlock(p, nbytes); }
  static void operator delete(void*, void*) noexcept {}

  /// The dispatch keys that this tensor adds to a call.
  DispatchKeySet key_set() const { return key_set_; }
  void set_key_set(DispatchKeySet ks) { key_set_ = ks; }
  /// Removes the Autograd keys: calls then skip Autograd for this tensor, even if it requires grad.
  void remove_autograd_key() { key_set_ = key_set_ - kAutogradKeys; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Layout layout() const { return Layout::Strided; }
  /// See signature.h. Every change of the metadata updates it.
  uint16_t signature() const { return signature_; }
  LayoutClass layout_class() const { return detail::signature::layoutOf(signature_); }

  /// Metadata, as Tensor's methods return it.
  int64_t dim() const { return static_cast<int64_t>(dims_.dim()); }
  int64_t numel() const { return numel_; }
  IntArrayRef sizes() const { return dims_.sizes(); }
  IntArrayRef strides() const { return dims_.strides(); }
  int64_t storage_offset() const { return storage_offset_; }
  int64_t itemsize() const { return elementSize(dtype_); }
  bool is_contiguous() const { return is_contiguous_; }
  bool is_contiguous(MemoryFormat format) const;
  /// Whether the elements fill their memory range exactly once, in some order of dimensions.
  bool is_non_overlapping_and_dense() const { return is_contiguous_ || computeNonOverlappingAndDense(); }

  /// Whether it has a storage; wrappers may have none. data() requires one and points to the first element.
  bool has_storage() const { return storage_.defined(); }
  const Storage& storage() const { return storage_; }
  std::byte* data() const { return storage_->data() + storage_offset_ * itemsize(); }

  /// `sizes` and `strides` have the same length, and sizes are not negative. The offset counts elements. Does not check
  /// that the storage is large enough.
  void set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset);
  void set_sizes_contiguous(IntArrayRef sizes);
  /// Takes over another tensor's storage, dtype and dimensions. This tensor keeps its version counter (as in PyTorch's
  /// set_data).
  void shallow_copy_from(const TensorImpl& other);
  void set_storage(Storage storage, ScalarType dtype);

  /// The counter of in-place changes to the tensor's elements.
  VersionCounter& version() const { return version_ ? *version_->counter : storage_->version_; }
  /// The same. Throws for inference tensors, which have no version counter.
  VersionCounter& version_counter() const;
  /// Counts a change. Inference tensors count none; for them it throws outside InferenceMode.
  void bump_version() const;
  /// Detaches this tensor from the storage's counter. It then counts its changes from 0 (`.data`).
  void use_own_version_counter();
  bool has_own_version_counter() const { return version_.defined(); }
  /// Shares the version counter of `base`, whose view or detached alias this tensor is.
  void share_version_counter_of(const TensorImpl& base);
  /// Inference tensors (made in InferenceMode) have no version counter and no autograd.
  bool is_inference() const { return !key_set_.has(Functionality::ADInplaceOrView); }

  /// Whether this is a 0-dim tensor made from a number. Such a tensor does not take part in type promotion within its
  /// category.
  bool is_wrapped_number() const { return is_wrapped_number_; }
  void set_wrapped_number(bool on) { is_wrapped_number_ = on; }

  /// Autograd's metadata; null until the tensor needs any. The tensor owns it.
  AutogradMetaInterface* autograd_meta() const { return autograd_meta_.get(); }
  void set_autograd_meta(std::unique_ptr<AutogradMetaInterface> meta) { autograd_meta_ = std::move(meta); }
  bool requires_grad() const { return autograd_meta_ != nullptr && autograd_meta_->requires_grad(); }
  /// For a wrapper tensor (of a subclass, or a functional one): the tensor that the wrapper's graph lives on. Such a
  /// wrapper has no Autograd key. Null for every other tensor.
  virtual const Tensor* graph_tensor() const { return nullptr; }

  // The object that stands for this tensor in another language (foreign_object.h). Null: there is none.
  void* foreign_object() const { return foreign_.get(); }
  /// Sets a borrowed object.
  void set_foreign_object(void* object) const { foreign_.set(object); }
  bool owns_foreign_object() const { return foreign_.owned(); }
  void set_owns_foreign_object(bool on) const { foreign_.set_owned(on); }

 protected:
  void release_resources() override;

 private:
  friend struct TensorBlock;
  // A version counter other than that of the tensor's storage: one that a few tensors share, or another storage's.
  struct SharedVersion : intrusive_ptr_target {
    explicit SharedVersion(VersionCounter& shown) : counter(&shown) {}
    VersionCounter* const counter;
  };
  void destroy() override;
  void refreshGeometry();
  void setSignature(LayoutClass layout) { signature_ = detail::signature::make(dtype_, device_.type(), layout); }
  bool computeNonOverlappingAndDense() const;

  DispatchKeySet key_set_;
  Storage storage_;
  intrusive_ptr<SharedVersion> version_;  // null: the storage's
  std::unique_ptr<AutogradMetaInterface> autograd_meta_;
  int64_t numel_ = 0;
  int64_t storage_offset_ = 0;
  ScalarType dtype_;
  Device device_;
  uint16_t signature_ = 0;
  bool is_contiguous_ = true;
  bool is_wrapped_number_ = false;
  bool in_block_ = false;
  mutable detail::ForeignObject foreign_;
  SizesAndStrides dims_;
};

inline TensorImpl::TensorImpl(const TensorImpl& base, DispatchKeySet keyset)
    : key_set_(keyset),
      storage_(base.storage_),
      version_(base.version_),
      numel_(base.numel_),
      storage_offset_(base.storage_offset_),
      dtype_(base.dtype_),
      device_(base.device_),
      signature_(base.signature_),
      is_contiguous_(base.is_contiguous_),
      is_wrapped_number_(base.is_wrapped_number_),
      dims_(base.dims_) {}

/// The keys of a new dense tensor on `device` that does not require grad, for the thread's inference mode.
SHUNT_API DispatchKeySet keySetFor(Device device);

namespace detail {
/// A new dense CPU tensor in one block, with uninitialised elements. Empty `strides` means contiguous. Throws for
/// negative sizes, and for a dtype without kernels.
SHUNT_API intrusive_ptr<TensorImpl> makeCpuTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype);
/// A row-major one with another CPU tensor's sizes. The caller gets the only reference and must reclaim() it.
SHUNT_API TensorImpl* newCpuTensorLike(const TensorImpl& like, ScalarType dtype);
/// A new tensor on any device with an allocator, or on Meta without data.
SHUNT_API intrusive_ptr<TensorImpl> makeTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device);
/// The bytes, or elements, that sizes and strides span from offset 0. Both throw on overflow and on negative sizes; the
/// error names `what`. Negative strides also throw.
SHUNT_API int64_t storageBytes(const char* what, IntArrayRef sizes, IntArrayRef strides, int64_t itemsize);
SHUNT_API int64_t checkedNumel(const char* what, IntArrayRef sizes);
}  // namespace detail

}  // namespace shunt
