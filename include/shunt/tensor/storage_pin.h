// StoragePin: keeps a storage's memory where it is, for those outside of Shunt who have its address.
//
// A holder refers to the storage and refuses resize() of it meanwhile, which would free the memory. Any thread; what
// the memory contains is the user's to synchronise.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/storage.h>

namespace shunt {

class SHUNT_API StoragePin {
 public:
  StoragePin() = default;
  explicit StoragePin(Storage storage);
  StoragePin(StoragePin&& o) noexcept : storage_(std::move(o.storage_)) {}
  StoragePin& operator=(StoragePin o) noexcept {
    std::swap(storage_, o.storage_);
    return *this;
  }
  ~StoragePin();

  /// Whether anybody has a pin on the storage.
  static bool holds(const StorageImpl& storage);

 private:
  Storage storage_;
};

}  // namespace shunt
