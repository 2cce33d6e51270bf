// Variants: all that a compiled function has ever had, found by the arguments' sizes.
//
// Note [Variants]
// Variants stand in lists, one for each hash of the arguments' sizes, which only grow until the function dies; one that
// a registration has put out of use stays in its list, retired. So calls read them without a lock:
//   record: under the owner's mutex: the variant is finished; its `next` := the list's head; the head := it (release)
//   call:   the last one that ran (acquire); else the list's head (acquire), and on by `next`, which never changes;
//           `retired` and `checked` (recorded.h)
// The thread that records holds `recording` (function_state.h), not the mutex, while the user's function runs: others
// run the function meanwhile. What a miss learns is behind the mutex, which a hit doesn't take.
#pragma once

#include "src/compile/guards/call_kind.h"
#include "src/compile/recorded.h"

#include <atomic>
#include <memory>
#include <vector>

namespace shunt::compiled {

class Variants {
 public:
  Variants() = default;
  ~Variants();
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;

  /// The one that ran or was made last, if its guard holds, it is not retired, and `fits` says so; else null. Any
  /// thread; and so for the next one.
  template <class Fits>
  SHUNT_ALWAYS_INLINE const Variant* findLast(const detail::CompileArguments& arguments, const Fits& fits) const {
    const Variant* const last = last_.load(std::memory_order_acquire);
    if (last != nullptr && !last->retired.load(std::memory_order_relaxed) && last->guard->holdsQuickly(arguments) &&
        fits(*last)) [[likely]]
      return last;
    return nullptr;
  }
  /// Any such one. `hash`: hashOfSizes(arguments).
  template <class Fits>
  SHUNT_NOINLINE const Variant* findElse(const detail::CompileArguments& arguments, uint64_t hash,
                                         const Fits& fits) const {
    for (const Variant* v = listFor(hash).load(std::memory_order_acquire); v != nullptr; v = v->next)
      if (v->hash_of_sizes == hash && !v->retired.load(std::memory_order_relaxed) && v->guard->holds(arguments) &&
          fits(*v)) {
        if (last() != v) last_.store(v, std::memory_order_release);
        return v;
      }
    return nullptr;
  }
  /// The one that ran or was made last; null: there was none. Any thread.
  const Variant* last() const { return last_.load(std::memory_order_acquire); }

  // Under the owner's mutex.
  const Variant* add(std::unique_ptr<Variant> variant);
  /// With the retired ones, in the order in which they were made.
  const std::vector<const Variant*>& all() const { return all_; }
  /// Whether as many were made as are worth their memory, most of which registrations have put out of use.
  bool areTooMany() const;

 private:
  static constexpr int kListBits = 7;
  using List = std::atomic<const Variant*>;
  List& listFor(uint64_t hash) const { return lists_[hash >> (64 - kListBits)]; }

  mutable std::atomic<const Variant*> last_{nullptr};
  mutable List lists_[size_t{1} << kListBits] = {};
  std::vector<const Variant*> all_;  // owned
  size_t most_in_use_ = 0;           // at one time
};

}  // namespace shunt::compiled
