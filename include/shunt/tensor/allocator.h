// Memory of tensors. Sources:
// - CPU blocks of up to 1 MiB: per-thread free lists.
// - Larger CPU blocks: malloc. Freed blocks are kept for a while for reuse.
// - Other devices: the allocator that the device's backend registers.
//
// Any thread may call allocateBlock and freeBlock, and a thread may free a block that another thread allocated. The
// thread that frees a block keeps it for its next allocation, up to 64 blocks per size class, and returns the rest.
// When the thread exits, its lists are returned. Under AddressSanitizer there are no lists, so that it sees use after
// free.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/device.h>

#include <cstddef>

namespace shunt {

/// Memory together with the function that frees it. `deleter(ctx)` runs once, on the thread that drops the last owner.
struct DataPtr {
  void* get() const { return data; }
  /// The argument of the deleter.
  void* get_context() const { return ctx; }

  /// The memory is freed by deleter(ctx). A null deleter frees nothing.
  void* data = nullptr;
  void* ctx = nullptr;
  void (*deleter)(void* ctx) = nullptr;
};

/// Allocates raw memory on a device. A device backend implements and registers it; any thread may call it.
class SHUNT_API Allocator {
 public:
  virtual ~Allocator() = default;
  /// Returns `nbytes` bytes, 64-byte aligned. `data` may be null for 0 bytes. Throws shunt::Error when out of memory.
  virtual DataPtr allocate(size_t nbytes, Device device) = 0;
};

/// Registers the allocator of a device type for the life of the process. The caller keeps ownership. Throws when
/// another allocator is registered for the type.
SHUNT_API void registerAllocator(DeviceType type, Allocator* allocator);
/// The registered allocator. Throws an Error that names the device type when it has none.
SHUNT_API Allocator& allocatorOf(DeviceType type);

namespace detail {

inline constexpr size_t kBlockAlignment = 64;
/// Returns at least `nbytes` bytes, 64-byte aligned. Throws shunt::Error when out of memory.
SHUNT_API void* allocateBlock(size_t nbytes);
/// `nbytes` must be what allocateBlock was given.
SHUNT_API void freeBlock(void* block, size_t nbytes) noexcept;

struct AllocationCounters {
  uint64_t from_list, from_system, to_list, to_system;
};
/// Counts of the calling thread's free lists so far. For tests and benchmarks.
SHUNT_API AllocationCounters allocationCounters();

}  // namespace detail
}  // namespace shunt
