// Free lists: one per thread and size class, linked through the blocks' first words.
//
// Classes: multiples of 64 bytes up to 1 KiB, then four steps a doubling up to 1 MiB; larger blocks go straight to malloc,
// as do all under AddressSanitizer. A list keeps at most 64 blocks and about 512 KiB. The thread's lists sit behind one
// initial-exec pointer and go back to malloc when the thread ends.
#include <shunt/core/error.h>
#include <shunt/tensor/allocator.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

namespace shunt {
namespace detail {
namespace {

constexpr size_t kFineLimit = 1024;
constexpr size_t kListLimit = size_t{1} << 20;
constexpr int kFineClasses = static_cast<int>(kFineLimit / kBlockAlignment);
constexpr int kNumClasses = kFineClasses + 4 * 10 + 1;
constexpr size_t kMaxListBytes = 512 * 1024;
constexpr uint32_t kMaxListBlocks = 64;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kUseLists = false;
#else
constexpr bool kUseLists = true;
#endif
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kUseLists = false;
#else
constexpr bool kUseLists = true;
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
  const int top = std::bit_width(n - 1) - 1;          // 2^top < n <= 2^(top+1)
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
};

constinit thread_local ThreadLists* thread_lists SHUNT_TLS_MODEL = nullptr;

void releaseLists(void* p) {
  auto* lists = static_cast<ThreadLists*>(p);
  thread_lists = nullptr;
  for (List& list : lists->lists)
    while (FreeBlock* b = list.head) {
      list.head = b->next;
      std::free(b);
    }
  delete lists;
}

SHUNT_COLD ThreadLists* makeLists() {
  static pthread_key_t key = [] {
    pthread_key_t k;
    pthread_key_create(&k, &releaseLists);
    return k;
  }();
  thread_lists = new ThreadLists;
  pthread_setspecific(key, thread_lists);
  return thread_lists;
}

SHUNT_ALWAYS_INLINE ThreadLists& lists() {
  ThreadLists* l = thread_lists;
  return l != nullptr ? *l : *makeLists();
}

void* fromSystem(size_t nbytes) {
  const size_t rounded = (nbytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  void* p = rounded < nbytes ? nullptr : std::aligned_alloc(kBlockAlignment, rounded);
  if (p == nullptr)
    throwError(str("DefaultCPUAllocator: can't allocate memory: you tried to allocate ", nbytes, " bytes"),
               std::source_location::current());
  return p;
}

}  // namespace

void* allocateBlock(size_t nbytes) {
  if (!kUseLists || nbytes > kListLimit) return fromSystem(nbytes);
  const SizeClass c = classOf(nbytes);
  ThreadLists& mine = lists();
  List& list = mine.lists[static_cast<size_t>(c.index)];
  if (FreeBlock* b = list.head) [[likely]] {
    list.head = b->next;
    --list.count;
    ++mine.counters.from_list;
    return b;
  }
  ++mine.counters.from_system;
  return fromSystem(c.bytes);
}

void freeBlock(void* block, size_t nbytes) noexcept {
  if (!kUseLists || nbytes > kListLimit) return std::free(block);
  const SizeClass c = classOf(nbytes);
  ThreadLists& mine = lists();
  List& list = mine.lists[static_cast<size_t>(c.index)];
  if (list.count >= kMaxListBlocks || (c.bytes > kFineLimit && list.count > 0 && (list.count + 1) * c.bytes > kMaxListBytes)) [[unlikely]] {
    ++mine.counters.to_system;
    return std::free(block);
  }
  auto* b = static_cast<FreeBlock*>(block);
  b->next = list.head;
  list.head = b;
  ++list.count;
  ++mine.counters.to_list;
}

AllocationCounters allocationCounters() { return lists().counters; }

}  // namespace detail

namespace {

class CpuAllocator : public Allocator {
 public:
  DataPtr allocate(size_t nbytes, Device) override {
    if (nbytes == 0) return {};
    void* p = detail::fromSystem(nbytes);
    return {p, p, [](void* ctx) { std::free(ctx); }};
  }
};

struct AllocatorTable {
  std::array<std::atomic<Allocator*>, kNumDeviceTypes> entries{};
  AllocatorTable() {
    static CpuAllocator cpu;
    entries[static_cast<size_t>(kCPU)] = &cpu;
  }
};

AllocatorTable& allocatorTable() {
  static auto* table = new AllocatorTable;
  return *table;
}

}  // namespace

void registerAllocator(DeviceType type, Allocator* allocator) {
  Allocator* expected = nullptr;
  auto& entry = allocatorTable().entries[static_cast<size_t>(type)];
  SHUNT_CHECK(entry.compare_exchange_strong(expected, allocator) || expected == allocator,
              "registerAllocator: device type ", type, " already has an allocator");
}

Allocator& allocatorOf(DeviceType type) {
  Allocator* a = allocatorTable().entries[static_cast<size_t>(type)].load(std::memory_order_acquire);
  SHUNT_CHECK(a != nullptr, "device type ", type, " has no backend in this build of Shunt: available are cpu and meta; a "
              "backend library has to be loaded, which registers an allocator (registerAllocator) and kernels for the key ",
              toString(backendOf(type)));
  return *a;
}

}  // namespace shunt
