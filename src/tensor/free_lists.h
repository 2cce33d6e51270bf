// Free lists of small blocks: the fast paths, inline; what they need of the system is in allocator.cpp. See there. Each
// thread uses its own lists only.
#pragma once

#include "src/tensor/stress.h"

#include <shunt/tensor/allocator.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace shunt::detail {

inline constexpr size_t kFineLimit = 1024;
inline constexpr size_t kListLimit = size_t{1} << 20;
inline constexpr int kFineClasses = static_cast<int>(kFineLimit / kBlockAlignment);
inline constexpr int kNumClasses = kFineClasses + 4 * 10 + 1;
inline constexpr size_t kMaxListBytes = 512 * 1024;
inline constexpr uint32_t kMaxListBlocks = 64;

#ifdef SHUNT_STRESS
inline constexpr bool kUseLists = false;
#else
inline constexpr bool kUseLists = true;
#endif

struct SizeClass {
  int index;
  size_t bytes;
};

SHUNT_ALWAYS_INLINE SizeClass classOf(size_t n) {
  if (n <= kFineLimit) [[likely]] {
    const size_t i = n == 0 ? 1 : (n + kBlockAlignment - 1) / kBlockAlignment;
    return {static_cast<int>(i - 1), i * kBlockAlignment};
  }
  const int top = std::bit_width(n - 1) - 1;  // 2^top < n <= 2^(top+1)
  const size_t step = size_t{1} << (top - 2);
  const size_t quarter = (n - 1 - (size_t{1} << top)) / step;  // 0..3
  return {kFineClasses + (top - 10) * 4 + static_cast<int>(quarter), (size_t{1} << top) + (quarter + 1) * step};
}

struct FreeBlock {
  FreeBlock* next;
};
struct List {
  FreeBlock* head = nullptr;
  uint32_t count = 0;
};
struct ThreadLists {
  std::array<List, kNumClasses> lists{};
  AllocationCounters counters{};
  // Note [Forks and the system's blocks]
  std::atomic<bool> in_system{false}, ending{false};
  bool seen_in_round = false;
  ThreadLists* next = nullptr;  // of all threads' lists
};

// Null until the thread's first allocation, and after its lists were given back at its end.
extern constinit thread_local ThreadLists* thread_lists SHUNT_TLS_MODEL;
SHUNT_COLD ThreadLists* makeLists();
/// A block that no list had: throws when there is none.
SHUNT_COLD void* fromSystem(size_t nbytes);
/// allocateBlock, but never inline: for sizes that are known at run time only and are not small.
SHUNT_NOINLINE void* allocateOfAnySize(size_t nbytes);

/// The allocator of CPU memory.
extern Allocator* const cpu_allocator;

SHUNT_ALWAYS_INLINE ThreadLists& lists() {
  ThreadLists* l = thread_lists;
  return l != nullptr ? *l : *makeLists();
}

/// Null: it has none.
SHUNT_ALWAYS_INLINE void* takeFrom(List& list, ThreadLists& mine) {
  FreeBlock* b = list.head;
  if (b == nullptr) return nullptr;
  list.head = b->next;
  --list.count;
  ++mine.counters.from_list;
  return b;
}

/// The list for 1 to kFineLimit bytes.
SHUNT_ALWAYS_INLINE List& fineList(ThreadLists& mine, size_t nbytes) {
  return mine.lists[(nbytes - 1) / kBlockAlignment];
}

/// Of 1 to kFineLimit bytes; null: allocateInline has more to do.
SHUNT_ALWAYS_INLINE void* takeFine(size_t nbytes) {
  ThreadLists* mine = thread_lists;
  if (!kUseLists || mine == nullptr) [[unlikely]]
    return nullptr;
  return takeFrom(fineList(*mine, nbytes), *mine);
}

/// Takes a block of 1 to kFineLimit bytes back; false: freeBlock has more to do.
SHUNT_ALWAYS_INLINE bool giveFine(void* block, size_t nbytes) {
  ThreadLists* mine = thread_lists;
  if (!kUseLists || mine == nullptr) [[unlikely]]
    return false;
  List& list = fineList(*mine, nbytes);
  if (list.count >= kMaxListBlocks) [[unlikely]]
    return false;
  auto* b = static_cast<FreeBlock*>(block);
  b->next = list.head;
  list.head = b;
  ++list.count;
  ++mine->counters.to_list;
  return true;
}

/// Sizes with lists that have little to check; 0 has none.
SHUNT_ALWAYS_INLINE bool isFine(size_t nbytes) { return nbytes - 1 < kFineLimit; }

SHUNT_ALWAYS_INLINE void* allocateInline(size_t nbytes) {
  if (!kUseLists || nbytes > kListLimit) return fromSystem(nbytes);
  const SizeClass c = classOf(nbytes);
  ThreadLists& mine = lists();
  if (void* b = takeFrom(mine.lists[static_cast<size_t>(c.index)], mine)) [[likely]]
    return b;
  ++mine.counters.from_system;
  return fromSystem(c.bytes);
}

}  // namespace shunt::detail
