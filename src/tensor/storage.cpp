#include <shunt/tensor/storage.h>

#include "src/tensor/tensor_block.h"

#include <algorithm>
#include <cstring>

namespace shunt {

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
  if (device_.is_meta()) {
    nbytes_ = nbytes;
    return;
  }
  SHUNT_INTERNAL_ASSERT(allocator_ != nullptr, "a resizable storage has an allocator");
  DataPtr fresh = allocator_->allocate(nbytes, device_);
  const size_t kept = std::min(nbytes, nbytes_);
  if (kept != 0) {
    SHUNT_CHECK(device_.is_cpu(), "resizing a storage with contents on device ", device_, " is not supported");
    std::memcpy(fresh.data, data_.data, kept);
  }
  freeData();
  data_ = fresh;
  nbytes_ = nbytes;
}

}  // namespace shunt
