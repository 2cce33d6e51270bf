// PassingKinds: kinds of calls that will get no graph, by a hash of their arguments, and how many more of each go to
// the function without a look: Note [Calls that pass by] (src/compile/function_state.h). A hash that another one has
// put out of its place is looked at again. Any thread; threads at once may let a few calls more or less pass, or count
// them with another's reason.
#pragma once

#include "src/compile/guards/why.h"

#include <algorithm>
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
  /// The next `many` such calls do, up to kMost. Counts them with their reason, and takes back those that won't come.
  void let(uint64_t hash, uint64_t many, Why why, WhyCounts& counts) {
    const uint64_t before = placeOf(hash).exchange((hash & ~kMost) | many, std::memory_order_relaxed) & kMost;
    const Why why_before = whys_[indexOf(hash)].exchange(why, std::memory_order_relaxed);
    if (before != 0) counts.takeBack(why_before, before);
    counts.add(why, many);
  }
  /// The reason of those that pass by now.
  Why whyOf(uint64_t hash) const { return whys_[indexOf(hash)].load(std::memory_order_relaxed); }
  /// Takes those out that haven't come yet.
  void takeBackFrom(WhyCounts::Numbers& numbers) const {
    for (size_t i = 0; i < kPlaces; ++i) {
      uint64_t& n = numbers[static_cast<size_t>(whys_[i].load(std::memory_order_relaxed))];
      n -= std::min(n, places_[i].load(std::memory_order_relaxed) & kMost);
    }
  }

 private:
  static constexpr size_t kPlaces = 512;
  // By the upper bits, as all but the lowest ones tell hashes apart.
  static size_t indexOf(uint64_t hash) { return hash >> (64 - std::countr_zero(kPlaces)); }
  std::atomic<uint64_t>& placeOf(uint64_t hash) { return places_[indexOf(hash)]; }

  std::array<std::atomic<uint64_t>, kPlaces> places_{};
  std::array<std::atomic<Why>, kPlaces> whys_{};
};

}  // namespace shunt::compiled
