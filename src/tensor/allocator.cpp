// Free lists: one per thread and size class, linked through the blocks' first words.
//
// Classes: multiples of 64 bytes up to 1 KiB, then four steps a doubling up to 1 MiB; behind the lists stands oneTBB's
// allocator (system_blocks.h). Larger blocks come from malloc and are kept when they are freed (large_blocks.h). In
// builds with SHUNT_STRESS all come from malloc, and nothing is kept. A list keeps at most 64 blocks and about 512 KiB.
// The thread's lists sit behind one initial-exec pointer and go back when the thread ends.
#include "src/tensor/free_lists.h"
#include "src/tensor/large_blocks.h"
#include "src/tensor/system_blocks.h"

#include <shunt/core/error.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace shunt {
namespace detail {

constinit thread_local ThreadLists* thread_lists SHUNT_TLS_MODEL = nullptr;

namespace {

void releaseLists(void* p) {
  auto* lists = static_cast<ThreadLists*>(p);
  thread_lists = nullptr;
  for (List& list : lists->lists)
    while (FreeBlock* b = list.head) {
      list.head = b->next;
      freeToSystem(*lists, b);
    }
  endWith(*lists);
}

}  // namespace

ThreadLists* makeLists() {
  static pthread_key_t key = [] {
    pthread_key_t k;
    pthread_key_create(&k, &releaseLists);
    return k;
  }();
  thread_lists = new ThreadLists;
  rememberLists(*thread_lists);
  pthread_setspecific(key, thread_lists);
  return thread_lists;
}

namespace {

void* checked(void* p, size_t nbytes) {
  if (p == nullptr)
    throwError(str("DefaultCPUAllocator: can't allocate memory: you tried to allocate ", nbytes, " bytes"),
               std::source_location::current());
  return p;
}

void* fromMalloc(size_t nbytes) {
  const size_t rounded = (nbytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  return checked(rounded < nbytes ? nullptr : std::aligned_alloc(kBlockAlignment, rounded), nbytes);
}

}  // namespace

#ifdef SHUNT_STRESS
constinit std::atomic<void (*)()> stress_checkpoint{nullptr};
#endif

void* fromSystem(size_t nbytes) {
#ifdef SHUNT_STRESS
  if (auto* const hook = stress_checkpoint.load(std::memory_order_acquire)) hook();
#endif
  if (!kUseLists) return fromMalloc(nbytes);
  if (nbytes > kListLimit) return checked(allocateLarge(nbytes), nbytes);
  releaseIdleLargeBlocks();
  return checked(allocateFromSystem(lists(), nbytes), nbytes);
}

void* allocateOfAnySize(size_t nbytes) { return allocateInline(nbytes); }

// What freeBlock does where that takes more than a few instructions; apart, so that those need no frame.
SHUNT_NOINLINE static void freeOfAnySize(void* block, size_t nbytes) noexcept {
  if (!kUseLists) return std::free(block);
  if (nbytes > kListLimit) return freeLarge(block, nbytes);
  const SizeClass c = classOf(nbytes);
  ThreadLists& mine = lists();
  List& list = mine.lists[static_cast<size_t>(c.index)];
  if (list.count >= kMaxListBlocks ||
      (c.bytes > kFineLimit && list.count > 0 && (list.count + 1) * c.bytes > kMaxListBytes)) [[unlikely]] {
    ++mine.counters.to_system;
    return freeToSystem(mine, block);
  }
  auto* b = static_cast<FreeBlock*>(block);
  b->next = list.head;
  list.head = b;
  ++list.count;
  ++mine.counters.to_list;
}

void freeBlock(void* block, size_t nbytes) noexcept {
  if (!isFine(nbytes) || !giveFine(block, nbytes)) [[unlikely]]
    freeOfAnySize(block, nbytes);
}

AllocationCounters allocationCounters() { return lists().counters; }

namespace {

class CpuAllocator : public Allocator {
 public:
  DataPtr allocate(size_t nbytes, Device) override {
    if (nbytes == 0) return {};
    void* p = fromMalloc(nbytes);
    return {p, p, [](void* ctx) { std::free(ctx); }};
  }
};

// Tensors may outlive every static object.
[[clang::no_destroy]] constinit CpuAllocator cpu_allocator_object;

}  // namespace

Allocator* const cpu_allocator = &cpu_allocator_object;

}  // namespace detail

namespace {

struct AllocatorTable {
  std::array<std::atomic<Allocator*>, kNumDeviceTypes> entries{};
  AllocatorTable() { entries[static_cast<size_t>(kCPU)] = detail::cpu_allocator; }
};

AllocatorTable& allocatorTable() {
  static auto* table = new AllocatorTable;
  return *table;
}

}  // namespace

void registerAllocator(DeviceType type, Allocator* allocator) {
  SHUNT_CHECK(allocator != nullptr, "registerAllocator: the allocator of device type ", type, " is null");
  Allocator* expected = nullptr;
  auto& entry = allocatorTable().entries[static_cast<size_t>(type)];
  SHUNT_CHECK(entry.compare_exchange_strong(expected, allocator) || expected == allocator,
              "registerAllocator: device type ", type,
              " already has another allocator; a type has one for the life of the process");
}

Allocator& allocatorOf(DeviceType type) {
  Allocator* a = allocatorTable().entries[static_cast<size_t>(type)].load(std::memory_order_acquire);
  SHUNT_CHECK(a != nullptr, "device type ", type,
              " has no backend in this build of Shunt: available are cpu and meta; a "
              "backend library has to be loaded (load_library), which registers an allocator with "
              "registerAllocator(DeviceType, Allocator*) "
              "(shunt/tensor/allocator.h) and kernels for the key ",
              toString(backendOf(type)));
  return *a;
}

}  // namespace shunt
