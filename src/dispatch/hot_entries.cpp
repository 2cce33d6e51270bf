// Thunks enter and leave operators' states here: what the steps of publication.h work on, and the probe array. See
// thunk.h and Note [Hot entries].
#include "src/dispatch/hot_entries.h"

#include "src/dispatch/dispatcher_impl.h"

#include <algorithm>
#include <bit>
#include <cstring>
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

std::string describe(const jit::Thunk& t) {
  return detail::str(OperatorHandle(*t.op).operator_name(), " keys={", toString(DispatchKeySet::fromRaw(t.keys)), "}");
}

uint64_t versionInForce(const jit::Edge& e) {
  constexpr uint64_t kNone = ~uint64_t{0};
  if (e.op == nullptr) return detail::settingVersion(static_cast<Setting>(e.slot));
  const OpState* s = e.op->state().load(std::memory_order_acquire);
  return s != nullptr ? s->entry(e.slot).version : kNone;
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

void Dispatcher::Impl::findStale(Change& change) {
  std::unordered_set<const jit::Thunk*> seen;
  std::unordered_set<const Operator*> others;
  const auto relies = [&](const jit::Thunk& t) {
    return std::ranges::any_of(t.edges, [&](const jit::Edge& e) {
      return e.op == nullptr && static_cast<Setting>(e.slot) == change.setting->setting;
    });
  };
  if (change.setting) {
    const auto [first, last] = dependants.equal_range(nullptr);
    for (auto d = first; d != last; ++d) {
      if (!relies(*d->second) || !seen.insert(d->second).second) continue;
      others.insert(d->second->op);
      change.stale.push_back({d->second, detail::str("setting ", infoOf(change.setting->setting).name, " changed to ",
                                                     change.setting->becomes)});
    }
  }
  for (const auto& [entry, next] : change.changed) {
    const Operator* op = entry->op();
    const OpState* before = entry->state();
    if (before == nullptr) continue;
    const auto consider = [&, &next = *next](jit::Thunk* t) {
      for (const jit::Edge& e : t->edges) {
        if (e.op != op || next.entry(e.slot).version == e.version) continue;
        if (t->op != op) others.insert(t->op);
        if (!seen.insert(t).second) return;
        change.stale.push_back(
            {t, detail::str(OperatorHandle(*op).operator_name(), ": ", static_cast<DispatchKey>(e.slot), " changed to ",
                            toString(next.entry(e.slot).reason))});
        return;
      }
    };
    const auto [first, last] = dependants.equal_range(op);
    for (auto d = first; d != last; ++d) consider(d->second);
    for (size_t i = 0; i < HotEntries::count(*before); ++i) consider(HotEntries::thunk(*before, i).get());
  }
  for (const Operator* other : others) {
    const OpState& before = *other->entry()->state();
    auto next = HotEntries::copyTable(before);
    HotEntries::carry(*next, before, change.stale, {});
    change.dependants.push_back({other->entry(), std::move(next)});
  }
}

namespace {

/// The steps of world::publishChange on the dispatcher's data. Nothing here throws.
struct Publication {
  Change& change;
  world::Reclaimer<detail::HardwarePlatform, OpState>& reclaimer;

  template <class F>
  void forEachStale(F&& f) {
    for (const StaleThunk& s : change.stale) f(s.thunk->validity);
  }
  void replaceDependants() { replace(change.dependants); }
  void replaceChanged() {
    replace(change.changed);
    if (change.setting) change.setting->store();
  }

 private:
  void replace(std::vector<Change::Next>& all) {
    for (auto& [entry, next] : all) reclaimer.publish(entry->published(), next.release());
  }
};

}  // namespace

void Dispatcher::Impl::forgetDependant(const jit::Thunk& thunk) {
  std::erase_if(dependants, [&](const auto& d) { return d.second == &thunk; });
}

void Dispatcher::Impl::apply(Change& change) {
  const size_t count = change.changed.size() + change.dependants.size();
  reclaimer.reserve(count);
  for (StaleThunk& s : change.stale) {
    if (s.cause.empty()) continue;
    if (invalidations.size() == kLoggedInvalidations) invalidations.pop_front();
    invalidations.push_back({describe(*s.thunk), std::move(s.cause), s.thunk->op, s.thunk->keys, s.thunk->signature});
  }
  for (const StaleThunk& s : change.stale) forgetDependant(*s.thunk);
  world::publishChange(Publication{change, reclaimer});
  published += count;
}

namespace {

[[noreturn]] void throwOutsideOfThunk(const char* what) {
  throw Error(detail::str("Shunt: ", what, " outside of a thunk; please report this as a bug"));
}

}  // namespace

const OpState& detail::plannedState(const Operator&) { throwOutsideOfThunk("plannedState"); }
DispatchKeySet detail::plannedKeys(const Operator&) { throwOutsideOfThunk("plannedKeys"); }
const world::Validity<detail::HardwarePlatform>& detail::plannedValidity() { throwOutsideOfThunk("plannedValidity"); }

namespace jit {
namespace {

/// Of as many thunks as an operator has places for, the one that was used least lately; of equals, the oldest.
Thunk* coldest(const OpState& state) {
  size_t found = 0;
  for (size_t i = 1; i < HotEntries::count(state); ++i)
    if (HotEntries::at(state, i).timing.uses() < HotEntries::at(state, found).timing.uses()) found = i;
  return HotEntries::thunk(state, found).get();
}

}  // namespace

OpSnapshot snapshot(const Operator& op) {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  OpSnapshot out;
  const OpState* s = op.state().load(std::memory_order_acquire);
  if (s == nullptr) return out;
  out.op = &op;
  out.name = OperatorHandle(op).operator_name().str();
  for (int slot = 0; slot < kNumSlots; ++slot) out.table[static_cast<size_t>(slot)] = s->entry(slot);
  for (int b = 0; b < kNumBackends; ++b)
    out.masks[static_cast<size_t>(b)] = s->maskFor(DispatchKeySet::of(static_cast<BackendComponent>(b)));
  const auto copy = HotEntries::copyTable(*s);
  const auto* bytes = reinterpret_cast<const std::byte*>(copy.get());
  out.image.assign(bytes, bytes + sizeof(OpState));
  out.table_offset = static_cast<size_t>(reinterpret_cast<const std::byte*>(&copy->entry(0)) - bytes);
  return out;
}

bool publish(intrusive_ptr<Thunk> thunk) {
  AfterUnlock after;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  if (!impl.accept_thunks || !world::edgesUnchanged(thunk->edges, versionInForce)) return false;
  OperatorEntry& entry = *thunk->op->entry();
  const OpState& before = *entry.state();
  Change change;
  for (size_t i = 0; i < HotEntries::count(before); ++i) {
    const auto other = HotEntries::thunk(before, i);
    if (other->keys != thunk->keys || other->signature != thunk->signature) continue;
    if (other->tier >= thunk->tier) return false;  // somebody was first
    change.stale.push_back({other.get(), ""});     // what it relied on holds
    thunk->timing.addUses(other->timing.uses());   // or it would be the coldest
  }
  const bool full = change.stale.empty() && HotEntries::count(before) >= detail::kMaxHotEntries;
  if (full) change.stale.push_back({coldest(before), "more hot signatures than an operator has places for"});
  change.changed.push_back({&entry, HotEntries::copyTable(before)});
  HotEntries::carry(*change.changed.back().state, before, change.stale, thunk);
  try {
    for (const Edge& e : thunk->edges)
      if (e.op != thunk->op) impl.dependants.emplace(e.op, thunk.get());
    impl.apply(change);
  } catch (...) {
    impl.forgetDependant(*thunk);
    throw;
  }
  if (full)
    for (size_t i = 0; i < HotEntries::count(*entry.state()); ++i) HotEntries::at(*entry.state(), i).timing.age();
  after.states = impl.collect(false);
  return true;
}

bool retire(const Thunk& thunk, const std::string& cause) {
  AfterUnlock after;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  OperatorEntry& entry = *thunk.op->entry();
  const OpState& before = *entry.state();
  Change change;
  for (size_t i = 0; i < HotEntries::count(before); ++i)
    if (auto t = HotEntries::thunk(before, i); t.get() == &thunk) change.stale.push_back({t.get(), cause});
  if (change.stale.empty()) return false;
  change.changed.push_back({&entry, HotEntries::copyTable(before)});
  HotEntries::carry(*change.changed.back().state, before, change.stale, {});
  impl.apply(change);
  after.states = impl.collect(false);
  return true;
}

size_t retireAll(const std::string& cause) {
  AfterUnlock after;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  Change change;
  for (auto& [name, entry] : impl.operators) {
    const OpState* s = entry->state();
    if (s == nullptr || HotEntries::count(*s) == 0) continue;
    for (size_t i = 0; i < HotEntries::count(*s); ++i) change.stale.push_back({HotEntries::thunk(*s, i).get(), cause});
    change.changed.push_back({entry.get(), HotEntries::copyTable(*s)});
  }
  impl.apply(change);
  after.states = impl.collect(true);
  return change.stale.size();
}

void acceptThunks(bool on) {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  impl.accept_thunks = on;
}

std::vector<InvalidationRecord> invalidationLog() {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  return {impl.invalidations.begin(), impl.invalidations.end()};
}

std::vector<intrusive_ptr<Thunk>> publishedThunks() {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  std::vector<intrusive_ptr<Thunk>> out;
  for (const auto& [name, entry] : impl.operators) {
    const OpState* s = entry->state();
    for (size_t i = 0; s != nullptr && i < HotEntries::count(*s); ++i) out.push_back(HotEntries::thunk(*s, i));
  }
  return out;
}

}  // namespace jit
}  // namespace shunt
