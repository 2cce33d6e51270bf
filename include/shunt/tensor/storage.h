// StorageImpl: the bytes that tensors share, with the function that frees them and their version counter.
//
// A storage that is made together with its first tensor lives in that tensor's block (tensor_impl.h, Note [One block]).
// Any thread may hold a reference. The user synchronises access to the contents; the version counter is atomic.
#pragma once

#include <shunt/core/error.h>
#include <shunt/core/intrusive_ptr.h>
#include <shunt/tensor/allocator.h>

#include <atomic>

namespace shunt {

/// Counts in-place changes. Relaxed order: it detects mistakes within one program order and does not synchronise.
class VersionCounter {
 public:
  /// The present count. set() is for copies that stand for another tensor.
  uint32_t current() const { return value_.load(std::memory_order_relaxed); }
  void set(uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  uint32_t current_version() const { return current(); }
  void bump() { value_.store(current() + 1, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> value_{0};
};

class SHUNT_API StorageImpl : public intrusive_ptr_target {
 public:
  StorageImpl(DataPtr data, size_t nbytes, Device device, Allocator* allocator, bool resizable)
      : data_(data), nbytes_(nbytes), allocator_(allocator), device_(device), resizable_(resizable) {}
  /// Selects the constructor with PyTorch's order of arguments; the memory is the CPU's unless `device` is given.
  struct use_byte_size_t {};
  StorageImpl(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator, bool resizable, Device device = kCPU)
      : StorageImpl(data, nbytes, device, allocator, resizable) {}
  ~StorageImpl() override { freeData(); }

  /// The memory, its size in bytes, its device, and whether resize() is allowed.
  std::byte* data() const { return static_cast<std::byte*>(data_.data); }
  const DataPtr& data_ptr() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool resizable() const { return resizable_; }
  /// The allocator that resize() uses. Null for memory that Shunt did not allocate, and on Meta.
  Allocator* allocator() const { return allocator_; }
  VersionCounter& version() { return version_; }
  /// Replaces the memory and keeps the first min(old, new) bytes. Throws unless resizable, and while a StoragePin
  /// exists.
  void resize(size_t nbytes);

 protected:
  void release_resources() override { freeData(); }

 private:
  friend class TensorImpl;
  friend struct TensorBlock;
  void freeData() {
    if (data_.deleter != nullptr) data_.deleter(data_.ctx);
    data_ = {};
  }
  void destroy() override;

  DataPtr data_;
  size_t nbytes_;
  Allocator* allocator_;
  VersionCounter version_;
  Device device_;
  bool resizable_;
  bool in_block_ = false;  // lives in a TensorBlock, which is freed when both tensor and storage are destroyed
};

/// A handle on a storage. Copies share it.
class Storage : public intrusive_ptr<StorageImpl> {
 public:
  using intrusive_ptr::intrusive_ptr;  // constructors share or take over a reference, or make a null handle
  Storage(const intrusive_ptr<StorageImpl>& storage) noexcept : intrusive_ptr(storage) {}
  Storage(intrusive_ptr<StorageImpl>&& storage) noexcept : intrusive_ptr(std::move(storage)) {}

  /// The address of the first byte. This and the following require a storage.
  void* data() const { return get()->data(); }
  const DataPtr& data_ptr() const { return get()->data_ptr(); }
  size_t nbytes() const { return get()->nbytes(); }
  Device device() const { return get()->device(); }
  StorageImpl* unsafeGetStorageImpl() const { return get(); }
};

}  // namespace shunt
