#include <shunt/tensor/storage.h>

#include "src/tensor/tensor_block.h"

#include <shunt/core/tls.h>
#include <shunt/tensor/storage_pin.h>
#include <shunt/tensor/tensor.h>

#include <algorithm>
#include <cstring>

namespace shunt {

namespace {

/// Memory of a device, which stays its owner's, as a tensor.
Tensor bytesAt(const DataPtr& data, size_t n, Device device) {
  auto storage = make_intrusive<StorageImpl>(DataPtr{data.data, nullptr, nullptr}, n, device, nullptr, false);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keySetFor(device), kByte);
  impl->set_sizes_contiguous(static_cast<int64_t>(n));
  return Tensor(std::move(impl));
}

/// By the backend's copy_. Frees `to` when that throws.
void copyOnDevice(DataPtr& to, const DataPtr& from, size_t n, Device device) {
  try {
    AutoDispatchBelowAutograd guard;
    bytesAt(to, n, device).copy_(bytesAt(from, n, device));
  } catch (...) {
    if (to.deleter != nullptr) to.deleter(to.ctx);
    throw;
  }
}

}  // namespace

void StorageImpl::destroy() {
  if (!in_block_) {
    delete this;
    return;
  }
  TensorBlock* block = TensorBlock::of(this);
  this->~StorageImpl();
  block->endPart();
}

void StorageImpl::resize(size_t nbytes) {
  SHUNT_CHECK(resizable_, "Trying to resize storage that is not resizable");
  SHUNT_CHECK(!StoragePin::holds(*this),
              "Trying to resize storage that is not resizable: a buffer, an array or a tensor of another library shows "
              "its memory");
  if (device_.is_meta()) {
    nbytes_ = nbytes;
    return;
  }
  SHUNT_INTERNAL_ASSERT(allocator_ != nullptr, "a resizable storage has an allocator");
  DataPtr fresh = allocator_->allocate(nbytes, device_);
  const size_t kept = std::min(nbytes, nbytes_);
  if (kept != 0 && device_.is_cpu())
    std::memcpy(fresh.data, data_.data, kept);
  else if (kept != 0)
    copyOnDevice(fresh, data_, kept, device_);
  freeData();
  data_ = fresh;
  nbytes_ = nbytes;
}

}  // namespace shunt
