// StoragePin: keeps a storage's memory in place for code outside Shunt that has its address.
//
// A pin holds a reference to the storage and makes its resize() throw, which would free the memory. Any thread. The
// user synchronises access to the contents.
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

  /// Whether the storage has a pin.
  static bool holds(const StorageImpl& storage);

 private:
  Storage storage_;
};

}  // namespace shunt
