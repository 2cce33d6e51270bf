// See Note [Hot entries] (core/hot.h).
#include "src/dispatch/hot_entries.h"

#include <algorithm>
#include <bit>
#include <random>

namespace shunt {
namespace {

using detail::HotEntry;
using detail::HotTable;

/// A multiplier that gives every entry a place of its own in 2^bits, or 0.
uint64_t findMultiplier(const std::vector<HotEntry>& entries, int bits) {
  std::mt19937_64 random(entries.size());
  for (int attempt = 0; attempt < 200; ++attempt) {
    const uint64_t multiplier = random() | 1;
    uint64_t taken = 0;
    bool good = true;
    for (const HotEntry& e : entries) {
      const uint64_t place = uint64_t{1} << ((HotTable::mix(e.keys, e.signature) * multiplier) >> (64 - bits));
      good &= (taken & place) == 0;
      taken |= place;
    }
    if (good) return multiplier;
  }
  return 0;
}

/// The probe array. Few entries get a sparse one, so that a multiplier is found soon.
void buildTable(const std::vector<HotEntry>& entries, std::vector<HotEntry>& array, HotTable& table) {
  for (int bits = std::bit_width(entries.size()); bits <= 6; ++bits) {
    const uint64_t multiplier = findMultiplier(entries, bits);
    if (multiplier == 0) continue;
    array.assign(size_t{1} << bits, HotEntry{});
    table.multiplier = multiplier;
    table.shift = static_cast<uint32_t>(64 - bits);
    for (const HotEntry& e : entries) array[(HotTable::mix(e.keys, e.signature) * multiplier) >> table.shift] = e;
    table.entries = array.data();
    return;
  }
}

}  // namespace

std::unique_ptr<OpState> HotEntries::copyTable(const OpState& from) {
  auto to = std::make_unique<OpState>(from.op_);
  to->mask_ = from.mask_;
  to->mask_per_backend_ = from.mask_per_backend_;
  to->backend_masks_ = from.backend_masks_;
  to->table_ = from.table_;
  to->keep_alive_ = from.keep_alive_;
  return to;
}

void HotEntries::carry(OpState& to, const OpState& from, std::span<const StaleThunk> stale,
                       const intrusive_ptr<jit::Thunk>& more) {
  const auto isStale = [&](const jit::Thunk* t) {
    return std::any_of(stale.begin(), stale.end(), [&](const StaleThunk& s) { return s.thunk == t; });
  };
  for (size_t i = 0; i < count(from); ++i)
    if (auto t = thunk(from, i); !isStale(t.get())) to.thunks_.push_back(std::move(t));
  if (more) to.thunks_.push_back(more);
  std::vector<HotEntry> entries;
  for (size_t i = 0; i < count(to); ++i) entries.push_back({at(to, i).keys, at(to, i).signature, at(to, i).code});
  if (!entries.empty()) buildTable(entries, to.hot_entries_, to.hot_);
}

}  // namespace shunt
