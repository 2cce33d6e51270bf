#include "jit/link/unwind.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

// libgcc's interface for tables of .eh_frame sections; declared in no header of its own.
extern "C" void __register_frame_info_table(void* begin, void* object);
extern "C" void* __deregister_frame_info(const void* begin);

namespace shunt::jit::unwind {
namespace {

// libgcc's struct object takes 56 bytes; it owns them while the table is registered.
constexpr size_t kObjectBytes = 128;

struct Table {
  std::vector<uint64_t> sections;  // ends with 0
  alignas(std::max_align_t) std::byte object[kObjectBytes] = {};
};

struct Registry {
  std::mutex mutex;
  std::vector<uint64_t> sections;  // guarded by mutex
  std::unique_ptr<Table> current;  // guarded by mutex; null while there are no sections

  // libgcc searches under a lock of its own, so nobody reads the old table once it is deregistered. What a search returned
  // points into a section, and that belongs to live code.
  void publishLocked() {
    std::unique_ptr<Table> next;
    if (!sections.empty()) {
      next = std::make_unique<Table>();
      next->sections.reserve(sections.size() + 1);
      next->sections = sections;
      next->sections.push_back(0);
      __register_frame_info_table(next->sections.data(), next->object);
    }
    if (current) __deregister_frame_info(current->sections.data());
    current = std::move(next);
  }
};

Registry& registry() {
  static Registry& r = *new Registry;
  static const int installed =
      pthread_atfork([] { r.mutex.lock(); }, [] { r.mutex.unlock(); }, [] { r.mutex.unlock(); });
  (void)installed;
  return r;
}

}  // namespace

void add(uint64_t eh_frame) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.sections.push_back(eh_frame);
  r.publishLocked();
}

void remove(uint64_t eh_frame) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto found = std::find(r.sections.begin(), r.sections.end(), eh_frame);
  *found = r.sections.back();
  r.sections.pop_back();
  r.publishLocked();
}

size_t count() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.sections.size();
}

}  // namespace shunt::jit::unwind
