// See Note [Hot entries] (core/hot.h).
#include "src/dispatch/hot_entries.h"

#include <algorithm>
#include <random>

namespace shunt {
namespace {

using detail::HotKeys;
using detail::HotTable;

/// A multiplier that gives every value a place of its own, or 0. Of 16 values one in 90 does.
uint64_t findMultiplier(std::span<const uint64_t> values) {
  std::mt19937_64 random(values.size());
  for (int attempt = 0; attempt < 4000; ++attempt) {
    const uint64_t multiplier = random() | 1;
    uint64_t taken = 0;
    bool good = true;
    for (const uint64_t value : values) {
      const uint64_t place = uint64_t{1} << detail::hotPlace(value, multiplier);
      good &= (taken & place) == 0;
      taken |= place;
    }
    if (good) return multiplier;
  }
  return 0;
}

/// The signatures of one keyset; without any where they have no places of their own.
HotKeys keysetOf(const OpState& state, uint64_t keys) {
  HotKeys out;
  std::vector<uint64_t> signatures;
  for (size_t i = 0; i < HotEntries::count(state); ++i)
    if (HotEntries::at(state, i).keys == keys) signatures.push_back(HotEntries::at(state, i).signature);
  out.keys = keys;
  out.multiplier = findMultiplier(signatures);
  out.entry = &state.lookup(DispatchKeySet::fromRaw(keys));
  for (size_t i = 0; out.multiplier != 0 && i < HotEntries::count(state); ++i) {
    const jit::Thunk& t = HotEntries::at(state, i);
    if (t.keys != keys) continue;
    const size_t place = detail::hotPlace(t.signature, out.multiplier);
    out.signatures[place] = t.signature;
    out.code[place] = t.code;
  }
  return out;
}

/// Null where there are no thunks, or keysets have no places of their own.
std::unique_ptr<const HotTable> makeTable(const OpState& state) {
  std::vector<uint64_t> keysets;
  for (size_t i = 0; i < HotEntries::count(state); ++i)
    if (const uint64_t keys = HotEntries::at(state, i).keys; std::ranges::find(keysets, keys) == keysets.end())
      keysets.push_back(keys);
  auto table = std::make_unique<HotTable>();
  table->multiplier = findMultiplier(keysets);
  if (keysets.empty() || table->multiplier == 0) return nullptr;
  table->keysets.resize(1);
  for (const uint64_t keys : keysets) table->keysets.push_back(keysetOf(state, keys));
  table->by_keys.fill(&table->keysets[0]);
  for (const HotKeys& k : std::span(table->keysets).subspan(1))
    table->by_keys[detail::hotPlace(k.keys, table->multiplier)] = &k;
  return table;
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
  to.hot_ = makeTable(to);
}

}  // namespace shunt
