// TensorImpl: what a Tensor refers to: keyset, dtype, device, dimensions, storage, autograd metadata.
//
// Owned by reference count (intrusive_ptr.h). Reading metadata from several threads is safe while nobody writes it; a
// tensor's metadata is changed only by operators called on it (resize_, set_data, requires_grad_), as in PyTorch.
//
// Note [One block]
// An ordinary output tensor, its storage header and, when small, its data are one allocation: TensorBlock. Tensor and
// storage are counted apart, since a view may keep the storage after the tensor is gone. The block's own count
// (`parts`) is the number of the two that still live; whoever takes it to zero frees the memory. When both go at once,
// the usual case, nothing atomic is written.
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

/// What autograd keeps with a tensor; the one implementation is autograd's (autograd/autograd_meta.h).
struct SHUNT_API AutogradMetaInterface {
  virtual ~AutogradMetaInterface() = default;
  /// Whether operators on the tensor record gradients.
  virtual bool requires_grad() const = 0;
};

class SHUNT_API TensorImpl : public intrusive_ptr_target {
 public:
  TensorImpl(Storage storage, DispatchKeySet keyset, ScalarType dtype);
  /// An alias of `base` with keys of its own and no autograd metadata: shares data and version counter.
  TensorImpl(const TensorImpl& base, DispatchKeySet keyset);
  /// For a program's class of tensors that hold something else than elements: sizes {0}, a storage without bytes, and
  /// Autograd's keys besides those given. On the CPU unless a device is given.
  TensorImpl(DispatchKeySet keyset, ScalarType dtype, std::optional<Device> device);
  struct InBlock {};
  /// For makeCpuTensor: the object lives in a TensorBlock, and the caller sets the geometry.
  TensorImpl(InBlock, Storage storage, DispatchKeySet keyset, ScalarType dtype)
      : key_set_(keyset), storage_(std::move(storage)), dtype_(dtype), device_(storage_->device()), in_block_(true) {}
  ~TensorImpl() override;

  // Views, too, come from the thread's list of free blocks.
  static void* operator new(size_t nbytes) { return detail::allocateBlock(nbytes); }
  static void* operator new(size_t, void* place) noexcept { return place; }
  static void operator delete(void* p, size_t nbytes) noexcept { detail::freeBlock(p, nbytes); }
  static void operator delete(void*, void*) noexcept {}

  /// The keys that a call with the tensor has because of it.
  DispatchKeySet key_set() const { return key_set_; }
  void set_key_set(DispatchKeySet ks) { key_set_ = ks; }
  /// Autograd passes this tensor by, whatever it requires.
  void remove_autograd_key() { key_set_ = key_set_ - kAutogradKeys; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Layout layout() const { return Layout::Strided; }
  /// See signature.h: kept up to date by every change.
  uint16_t signature() const { return signature_; }
  LayoutClass layout_class() const { return detail::signature::layoutOf(signature_); }

  /// Metadata, as the Tensor's methods give it.
  int64_t dim() const { return static_cast<int64_t>(dims_.dim()); }
  int64_t numel() const { return numel_; }
  IntArrayRef sizes() const { return dims_.sizes(); }
  IntArrayRef strides() const { return dims_.strides(); }
  int64_t storage_offset() const { return storage_offset_; }
  int64_t itemsize() const { return elementSize(dtype_); }
  bool is_contiguous() const { return is_contiguous_; }
  bool is_contiguous(MemoryFormat format) const;
  /// Elements fill their memory range exactly once, in some order of dimensions.
  bool is_non_overlapping_and_dense() const { return is_contiguous_ || computeNonOverlappingAndDense(); }

  /// Whether it has memory: wrappers may have none.
  bool has_storage() const { return storage_.defined(); }
  const Storage& storage() const { return storage_; }
  std::byte* data() const { return storage_->data() + storage_offset_ * itemsize(); }

  /// Sizes and strides (same length, sizes >= 0); offset in elements. Does not check the storage's size.
  void set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset);
  void set_sizes_contiguous(IntArrayRef sizes);
  /// Shares another tensor's storage, dtype and dimensions. The version counter stays this tensor's (PyTorch's
  /// set_data).
  void shallow_copy_from(const TensorImpl& other);
  void set_storage(Storage storage, ScalarType dtype);

  /// Counts the changes of the tensor's elements.
  VersionCounter& version() const { return version_ ? *version_->counter : storage_->version_; }
  /// Detaches from the storage's counter: this tensor counts its own changes from 0 (`.data`).
  /// The same; throws for inference tensors, which have none.
  VersionCounter& version_counter() const;
  /// Notes a change. Of an inference tensor, which counts none, changes are for InferenceMode only: else throws.
  void bump_version() const;
  void use_own_version_counter();
  bool has_own_version_counter() const { return version_.defined(); }
  /// Shares the version counter of the tensor this one is a view or detached alias of.
  void share_version_counter_of(const TensorImpl& base);
  /// Inference tensors (made in InferenceMode) have no version counter and no autograd.
  bool is_inference() const { return !key_set_.has(Functionality::ADInplaceOrView); }

  /// A 0-dim tensor made from a number: it does not take part in type promotion within its category.
  bool is_wrapped_number() const { return is_wrapped_number_; }
  void set_wrapped_number(bool on) { is_wrapped_number_ = on; }

  /// What Autograd knows of the tensor; null where it knows nothing.
  AutogradMetaInterface* autograd_meta() const { return autograd_meta_.get(); }
  void set_autograd_meta(std::unique_ptr<AutogradMetaInterface> meta) { autograd_meta_ = std::move(meta); }
  bool requires_grad() const { return autograd_meta_ != nullptr && autograd_meta_->requires_grad(); }
  /// A wrapper tensor (a subclass's, a functional one) whose graph lives on another tensor answers with that one; it
  /// has no Autograd key itself. Null for every other tensor.
  virtual const Tensor* graph_tensor() const { return nullptr; }

  // The object that stands for this tensor in another language: foreign_object.h.
  void* foreign_object() const { return foreign_.get(); }
  /// Borrowed. Null: there is none.
  void set_foreign_object(void* object) const { foreign_.set(object); }
  bool owns_foreign_object() const { return foreign_.owned(); }
  void set_owns_foreign_object(bool on) const { foreign_.set_owned(on); }

 protected:
  void release_resources() override;

 private:
  friend struct TensorBlock;
  // A counter that tensors share apart from the storage they have now: one of theirs alone, or another storage's.
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

/// The keys of a new dense tensor on `device` that does not require grad, in or out of inference mode.
SHUNT_API DispatchKeySet keySetFor(Device device);

namespace detail {
/// A new dense CPU tensor in one block, contents uninitialised. `strides` empty means contiguous. Sizes are not
/// negative.
SHUNT_API intrusive_ptr<TensorImpl> makeCpuTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype);
/// A row-major one of another CPU tensor's sizes. The caller has the only reference: reclaim() it.
SHUNT_API TensorImpl* newCpuTensorLike(const TensorImpl& like, ScalarType dtype);
/// A new tensor of any device with an allocator (Meta: no data).
SHUNT_API intrusive_ptr<TensorImpl> makeTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device);
/// Bytes that sizes and strides span from offset 0; throws on overflow and on negative sizes, naming `what`.
SHUNT_API int64_t storageBytes(const char* what, IntArrayRef sizes, IntArrayRef strides, int64_t itemsize);
SHUNT_API int64_t checkedNumel(const char* what, IntArrayRef sizes);
}  // namespace detail

}  // namespace shunt
