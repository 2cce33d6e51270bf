// ForeignObject: a slot for the object by which another language's runtime knows a tensor or a node.
//
// It is one pointer, in every TensorImpl and in the rarely made extras of a Node. Shunt never reads the object. The
// runtime synchronises the slot with its lock. A tensor may be destroyed on any thread.
// - Borrowed slot, the usual case: the object refers to the tensor. The runtime finds the same object for the tensor.
// - Owned slot: the object has lost its last reference in its runtime, and C++ still uses the tensor. Then the object
//   may drop its reference to the tensor and let the tensor own it (`set_owned(true)`). The runtime finds it again
//   later, with all attributes that the program set. It is released when the tensor is destroyed.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// The callbacks of the runtime that sets objects. A process has one such runtime.
struct ForeignObjects {
  /// Called while the tensor or node that owned `object` is being destroyed. Its count is zero and its slot is empty,
  /// but it can still be read. Runs on any thread, inside any operator, and must take the runtime's lock itself.
  void (*release)(void* object) noexcept = nullptr;
};
/// Sets the callbacks for the process. Call it before a tensor owns its first object. With a null `release`, objects
/// that are owned then or later are leaked, as a runtime that has shut down requires.
SHUNT_API void set_foreign_objects(ForeignObjects objects) noexcept;

namespace detail {

/// The slot: null, or an address of alignment 2 or more whose lowest bit means "owned".
class ForeignObject {
 public:
  void* get() const { return reinterpret_cast<void*>(word_ & ~kOwned); }
  /// Sets a borrowed object.
  void set(void* object) { word_ = reinterpret_cast<uintptr_t>(object); }
  bool owned() const { return (word_ & kOwned) != 0; }
  void set_owned(bool on) { word_ = (word_ & ~kOwned) | (on ? kOwned : 0); }
  /// If the object is owned, empties the slot and releases the object.
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
