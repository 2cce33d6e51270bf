#include "jit/link/unwind.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

// libgcc's interface for tables of .eh_frame sections; declared in no header of its own.
extern "C" void __register_frame_info_table(void* begin, void* object);
extern "C" void* __deregister_frame_info(const void* begin);

namespace shunt::jit::unwind {
namespace {

// libgcc's struct object takes 56 bytes; it is libgcc's while the table is registered.
constexpr size_t kObjectBytes = 64;
struct alignas(64) Object {
  std::byte bytes[kObjectBytes] = {};
};

// Note [Objects are read after the lock]
// A search that found its entry leaves libgcc's lock before it reads the object's encoding and bases, so an object must
// stay readable for a while after it was deregistered, and keep these. All our tables have the same encoding and no bases;
// so objects are taken in turn from a ring that is never freed: a search would have to sleep, between two instructions,
// while as many tables are published as the ring has places, to see one that is being registered anew.
constexpr size_t kRing = 4096;

struct Registry {
  std::mutex mutex;
  std::vector<uint64_t> sections;  // guarded by mutex
  std::vector<uint64_t> current;   // the registered table, ends with 0; guarded by mutex; empty while there are no sections
  // The table to come, and one more with room for it; guarded by mutex. Made before code is added, so that taking code away
  // allocates nothing: that must not fail.
  std::vector<uint64_t> next, spare;
  std::vector<Object> ring = std::vector<Object>(kRing);
  size_t next_object = 0;          // guarded by mutex

  void addLocked(uint64_t section) {
    const size_t count = sections.size() + 1;
    sections.reserve(count);
    next.reserve(count + 1);
    spare.reserve(count + 1);
    sections.push_back(section);
    publishLocked();
    next.swap(spare);  // the table that was in force may have less room
  }

  // libgcc searches tables under a lock of its own, so nobody reads the old one once it is deregistered. What a search
  // returned points into a section, and that belongs to live code.
  void publishLocked() {
    next.clear();
    if (!sections.empty()) {
      next.assign(sections.begin(), sections.end());
      next.push_back(0);
      __register_frame_info_table(next.data(), ring[next_object].bytes);
      next_object = (next_object + 1) % kRing;
    }
    if (!current.empty()) __deregister_frame_info(current.data());
    current.swap(next);
  }
};

Registry& registry() {
  static Registry& r = *new Registry;
  // The handlers ask for it, since they may run on a thread that never did: only so is it made before they use it.
  static const int installed =
      pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, [] { registry().mutex.unlock(); });
  (void)installed;
  return r;
}

}  // namespace

void add(uint64_t eh_frame) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.addLocked(eh_frame);
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
