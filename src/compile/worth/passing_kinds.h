// PassingKinds: kinds of calls that will get no graph, by a hash of their arguments, and how many more of each go to
// the function without a look: Note [Calls that pass by] (src/compile/function_state.h). A hash that another one has
// put out of its place is looked at again. Any thread; threads at once may let a few calls more or less pass.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace shunt::compiled {

class PassingKinds {
 public:
  static constexpr uint64_t kMost = 255;

  /// Whether this call passes by.
  bool passes(uint64_t hash) {
    std::atomic<uint64_t>& place = placeOf(hash);
    const uint64_t known = place.load(std::memory_order_relaxed);
    if ((known ^ hash) > kMost || (known & kMost) == 0) return false;
    place.store(known - 1, std::memory_order_relaxed);
    return true;
  }
  /// The next `many` such calls do, up to kMost.
  void let(uint64_t hash, uint64_t many) { placeOf(hash).store((hash & ~kMost) | many, std::memory_order_relaxed); }

 private:
  static constexpr size_t kPlaces = 512;
  // By the upper bits, as all but the lowest ones tell hashes apart.
  std::atomic<uint64_t>& placeOf(uint64_t hash) { return places_[hash >> (64 - std::countr_zero(kPlaces))]; }

  std::array<std::atomic<uint64_t>, kPlaces> places_{};
};

}  // namespace shunt::compiled
