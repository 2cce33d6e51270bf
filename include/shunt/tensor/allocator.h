// Memory: blocks of up to 1 MiB from per-thread free lists, larger ones from malloc, kept for a while when they are
// freed, other devices' from the allocator their backend registers.
//
// allocateBlock/freeBlock may be called on any thread; a block may be freed on another thread than it was made on:
// whoever frees keeps it for its own next allocation, up to 64 blocks a size class, and returns the rest. A thread's
// list is returned when it exits. Under AddressSanitizer there is no list, so that use after free is seen.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/device.h>

#include <cstddef>

namespace shunt {

/// Data of device tensors: who made it frees it. `deleter(ctx)` runs once, on whichever thread drops the last owner.
struct DataPtr {
  void* get() const { return data; }
  /// What the deleter gets.
  void* get_context() const { return ctx; }

  /// The memory, and what frees it: deleter(ctx); null: nothing does.
  void* data = nullptr;
  void* ctx = nullptr;
  void (*deleter)(void* ctx) = nullptr;
};

/// What a device backend registers: raw memory on its device. Called from any thread.
class SHUNT_API Allocator {
 public:
  virtual ~Allocator() = default;
  /// `nbytes` bytes, 64-byte aligned; `data` may be null for 0 bytes. Throws shunt::Error when there is no memory.
  virtual DataPtr allocate(size_t nbytes, Device device) = 0;
};

/// Registers the allocator of a device type for the life of the process; throws when another one is registered.
SHUNT_API void registerAllocator(DeviceType type, Allocator* allocator);
/// Throws an Error that names the device when it has no backend here.
SHUNT_API Allocator& allocatorOf(DeviceType type);

namespace detail {

inline constexpr size_t kBlockAlignment = 64;
/// At least `nbytes` bytes, 64-byte aligned. Throws shunt::Error when memory is short.
SHUNT_API void* allocateBlock(size_t nbytes);
/// `nbytes` as given to allocateBlock.
SHUNT_API void freeBlock(void* block, size_t nbytes) noexcept;

struct AllocationCounters {
  uint64_t from_list, from_system, to_list, to_system;
};
/// What the calling thread's list did so far. For tests and benchmarks.
SHUNT_API AllocationCounters allocationCounters();

}  // namespace detail
}  // namespace shunt
