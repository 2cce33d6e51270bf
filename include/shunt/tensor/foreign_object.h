// ForeignObject: a slot for the object by which another language's runtime knows a tensor or a node.
//
// One pointer, in every TensorImpl and in the rarely made extras of a Node. Shunt never looks at the object. Usually
// the object refers to the tensor and the slot is borrowed, so that the runtime finds the same object for the same
// tensor again. An object that loses its last reference in its runtime while C++ still refers to the tensor may give up
// its own reference to the tensor and let the tensor own it instead (`set_owned(true)`): it is found again later, with
// all that the program put on it, and is released when the tensor ends. The slot is the runtime's to synchronise (by
// its lock); the end of a tensor may happen on any thread.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// What the runtime that sets objects does for Shunt. There is one such runtime in a process.
struct ForeignObjects {
  /// The tensor or node that owned `object` is being destroyed: its count has fallen to zero, and it can still be read,
  /// but its slot is already empty. On any thread, in the middle of any operator: takes the runtime's lock itself.
  void (*release)(void* object) noexcept = nullptr;
};
/// Sets them for the process, before the first object is given to a tensor to own; with a null `release` objects that
/// are owned at that time or later are leaked, as a runtime that has ended wants it.
SHUNT_API void set_foreign_objects(ForeignObjects objects) noexcept;

namespace detail {

/// The slot. Null, or an address that is at least 2-aligned, whose lowest bit says "owned".
class ForeignObject {
 public:
  void* get() const { return reinterpret_cast<void*>(word_ & ~kOwned); }
  /// Borrowed.
  void set(void* object) { word_ = reinterpret_cast<uintptr_t>(object); }
  bool owned() const { return (word_ & kOwned) != 0; }
  void set_owned(bool on) { word_ = (word_ & ~kOwned) | (on ? kOwned : 0); }
  /// Empties the slot, and releases the object if it is owned.
  void release() noexcept {
    if (owned()) [[unlikely]]
      releaseOwned();
  }

 private:
  static constexpr uintptr_t kOwned = 1;
  SHUNT_API SHUNT_COLD void releaseOwned() noexcept;
  uintptr_t word_ = 0;
};

}  // namespace detail
}  // namespace shunt
