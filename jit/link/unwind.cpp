#include "jit/link/unwind.h"

#include "jit/link/libgcc.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace shunt::jit::unwind {
namespace {

// Note [Objects are read after the lock]
// A search of libgcc's lists that found its entry leaves the lock before it reads the object's encoding and bases, so
// an object must stay readable for a while after it was deregistered, and keep these. All our tables have the same
// encoding and no bases; so objects are taken in turn from a ring that is never freed: a search would have to sleep,
// between two instructions, while as many tables are published as the ring has places, to see one that is being
// registered anew. With an object a section this can't be: a search reads only the object whose range it is in, and
// nobody is in code that goes.
constexpr size_t kRing = 4096;

class OneTable {
 public:
  void add(uint64_t section) {
    const size_t count = sections_.size() + 1;
    ring_.resize(kRing);
    sections_.reserve(count);
    next_.reserve(count + 1);
    spare_.reserve(count + 1);
    sections_.push_back(section);
    publish();
    next_.swap(spare_);  // the table that was in force may have less room
  }

  void remove(uint64_t section) {
    const auto found = std::find(sections_.begin(), sections_.end(), section);
    *found = sections_.back();
    sections_.pop_back();
    publish();
  }

 private:
  // libgcc searches lists under a lock of its own, so nobody reads the old table once it is deregistered. What a search
  // returned points into a section, and that belongs to live code.
  void publish() {
    next_.clear();
    if (!sections_.empty()) {
      next_.assign(sections_.begin(), sections_.end());
      next_.push_back(0);
      __register_frame_info_table(next_.data(), ring_[next_object_].bytes);
      next_object_ = (next_object_ + 1) % kRing;
    }
    if (!current_.empty()) __deregister_frame_info(current_.data());
    current_.swap(next_);
  }

  std::vector<uint64_t> sections_;
  std::vector<uint64_t> current_;  // the registered table, ends with 0; empty while there are no sections
  // The table to come, and one more with room for it. Made before code is added, so that taking code away allocates
  // nothing.
  std::vector<uint64_t> next_, spare_;
  std::vector<LibgccObject> ring_;  // kRing of them once there was a section
  size_t next_object_ = 0;
};

// Note [Stale separators]
// The tree's inner nodes hold separators: the last address before what was, once, the first section of a leaf. In
// libgcc 13, and in 14 up to 14.2, they stay when the section goes. A later section that reaches across one is
// inserted to its left, but looked for to its right by addresses beyond it: an exception there ends the process.
// Separators are made of first addresses only, and never change to others, so a section that is found at its last
// address now stays found while it is registered. One that is not has to go elsewhere.
class EachSection {
 public:
  static bool add(uint64_t section) {
    const CodeRange range = codeRange(section);
    if (range.empty()) return true;
    makeRoom();
    auto object = std::make_unique<LibgccObject>();
    __register_frame_info(reinterpret_cast<const void*>(section), object.get());
    // The first search sorts the object's entries, under a lock that a fork would leave locked. So it is this one, in
    // our mutex.
    if (hasEntry(range.end - 1)) {
      static_cast<void>(object.release());
      return true;
    }
    __deregister_frame_info(reinterpret_cast<const void*>(section));
    return false;
  }

  static void remove(uint64_t section) {
    if (codeRange(section).empty()) return;
    // Null while the process exits and libgcc has dropped all objects.
    delete static_cast<LibgccObject*>(__deregister_frame_info(reinterpret_cast<const void*>(section)));
  }

 private:
  // libgcc uses what malloc returns for the tree's nodes without a look. Where there is no memory, let it show here, as
  // an exception.
  static void makeRoom() {
    constexpr size_t kNodesAtOnce = 8 * 320;
    ::operator delete(::operator new(kNodesAtOnce));
  }
};

struct Registry {
  std::mutex mutex;
  Scheme scheme = best();  // guarded by mutex, as all below
  size_t count = 0;
  OneTable one_table;

  static Scheme best() {
    static const LibgccBehaviour behaviour = libgccBehaviour();
    switch (behaviour) {
      case LibgccBehaviour::kLists:
        return Scheme::kOneTable;
      case LibgccBehaviour::kTree:
        return Scheme::kEachSection;
      case LibgccBehaviour::kUnknown:
        break;
    }
    return Scheme::kNone;
  }
};

Registry& registry() {
  static Registry& r = *new Registry;
  return r;
}

}  // namespace

bool add(uint64_t eh_frame) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (r.scheme == Scheme::kNone) return false;
  if (r.scheme == Scheme::kOneTable)
    r.one_table.add(eh_frame);
  else if (!EachSection::add(eh_frame))
    return false;
  ++r.count;
  return true;
}

void remove(uint64_t eh_frame) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (r.scheme == Scheme::kOneTable)
    r.one_table.remove(eh_frame);
  else
    EachSection::remove(eh_frame);
  --r.count;
}

void beforeFork() { registry().mutex.lock(); }
void afterFork() { registry().mutex.unlock(); }

size_t count() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.count;
}

Scheme scheme() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.scheme;
}

bool useScheme(Scheme scheme) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  // Lists bear objects of any number; a tree doesn't bear tables.
  if (r.count != 0 || (scheme == Scheme::kOneTable && Registry::best() != Scheme::kOneTable)) return false;
  if (scheme != Scheme::kNone && Registry::best() == Scheme::kNone) return false;
  r.scheme = scheme;
  return true;
}

}  // namespace shunt::jit::unwind
