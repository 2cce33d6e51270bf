// Thunks enter and leave operators' states here: publication (P3), invalidation (R3, R4), and the probe array. See thunk.h and
// Note [Hot entries].
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

void HotEntries::carry(OpState& to, const OpState* from, const intrusive_ptr<jit::Thunk>& more) {
  const auto keep = [&](intrusive_ptr<jit::Thunk> t) {
    if (t->valid.load(std::memory_order_relaxed)) to.thunks_.push_back(std::move(t));
  };
  for (size_t i = 0; from != nullptr && i < count(*from); ++i) keep(thunk(*from, i));
  if (more) keep(more);
  std::vector<HotEntry> entries;
  for (size_t i = 0; i < count(to); ++i) entries.push_back({at(to, i).keys, at(to, i).signature, at(to, i).code});
  if (!entries.empty()) buildTable(entries, to.hot_entries_, to.hot_);
}

void Dispatcher::Impl::republish(OperatorEntry& entry, const intrusive_ptr<jit::Thunk>& more) {
  auto next = HotEntries::copyTable(*entry.state());
  HotEntries::carry(*next, entry.state(), more);
  replace(entry, std::move(next));
}

void Dispatcher::Impl::invalidate(jit::Thunk& thunk, const std::string& cause) {
  if (!thunk.valid.load(std::memory_order_relaxed)) return;
  thunk.valid.store(false, std::memory_order_release);
  std::erase_if(dependants, [&](const auto& d) { return d.second == &thunk; });
  if (invalidations.size() == kLoggedInvalidations) invalidations.pop_front();
  invalidations.push_back({describe(thunk), cause});
}

void Dispatcher::Impl::invalidateFor(OperatorEntry& entry, const OpState& next) {
  const Operator* op = entry.op();
  const OpState& before = *entry.state();
  const auto changedSlot = [&](const jit::Thunk& t) {
    for (const jit::Edge& e : t.edges)
      if (e.op == op && next.entry(e.slot).version != e.version) return e.slot;
    return -1;
  };
  const auto cause = [&](int slot) {
    return detail::str(OperatorHandle(*op).operator_name(), ": ", static_cast<DispatchKey>(slot), " changed to ",
                       toString(next.entry(slot).reason));
  };
  std::unordered_set<const Operator*> others;
  std::vector<jit::Thunk*> foreign;
  const auto [first, last] = dependants.equal_range(op);
  for (auto d = first; d != last; ++d) foreign.push_back(d->second);
  for (jit::Thunk* t : foreign)
    if (const int slot = changedSlot(*t); slot >= 0) {
      others.insert(t->op);
      invalidate(*t, cause(slot));
    }
  for (size_t i = 0; i < HotEntries::count(before); ++i) {
    auto t = HotEntries::thunk(before, i);
    if (const int slot = changedSlot(*t); slot >= 0) invalidate(*t, cause(slot));
  }
  others.erase(op);
  for (const Operator* other : others) republish(*other->entry(), {});
}

const OpState& detail::plannedState() {
  SHUNT_CHECK(false, "Shunt: redispatchPlanned outside of a thunk; please report this as a bug");
}

namespace jit {

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
  if (!impl.accept_thunks) return false;
  for (const Edge& e : thunk->edges) {
    const OpState* s = e.op->state().load(std::memory_order_acquire);
    if (s == nullptr || s->entry(e.slot).version != e.version) return false;
  }
  OperatorEntry& entry = *thunk->op->entry();
  const OpState& before = *entry.state();
  for (size_t i = 0; i < HotEntries::count(before); ++i) {
    const Thunk& other = HotEntries::at(before, i);
    if (other.keys == thunk->keys && other.signature == thunk->signature) return false;  // somebody was first
  }
  if (HotEntries::count(before) >= detail::kMaxHotEntries)
    impl.invalidate(*HotEntries::thunk(before, 0), "more hot signatures than an operator has places for");
  for (const Edge& e : thunk->edges)
    if (e.op != thunk->op) impl.dependants.emplace(e.op, thunk.get());
  impl.republish(entry, thunk);
  after.states = impl.collect(false);
  return true;
}

size_t retireAll(const std::string& cause) {
  AfterUnlock after;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  size_t n = 0;
  for (auto& [name, entry] : impl.operators) {
    const OpState* s = entry->state();
    if (s == nullptr || HotEntries::count(*s) == 0) continue;
    for (size_t i = 0; i < HotEntries::count(*s); ++i, ++n) impl.invalidate(*HotEntries::thunk(*s, i), cause);
    impl.republish(*entry, {});
  }
  after.states = impl.collect(true);
  return n;
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
