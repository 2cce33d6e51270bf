// Thunks enter and leave operators' states one by one here: publication of what the compiler made, and retirement.
#include "src/dispatch/thunk.h"

#include "src/dispatch/dispatcher_impl.h"

#include <algorithm>

namespace shunt {
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

uint64_t versionInForce(const Edge& e) {
  constexpr uint64_t kNone = ~uint64_t{0};
  if (e.op == nullptr) return detail::settingVersion(static_cast<Setting>(e.slot));
  const OpState* s = e.op->state().load(std::memory_order_acquire);
  return s != nullptr ? s->entry(e.slot).version : kNone;
}

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
  change.only_thunks = true;
  for (size_t i = 0; i < HotEntries::count(before); ++i) {
    const auto other = HotEntries::thunk(before, i);
    if (other->keys != thunk->keys || other->signature != thunk->signature) continue;
    const bool better = thunk->tier > other->tier || (thunk->tier == other->tier && thunk->kinds > other->kinds);
    if (!better) return false;                    // somebody was first
    change.stale.push_back({other.get(), ""});    // what it relied on holds
    thunk->timing.addUses(other->timing.uses());  // or it would be the coldest
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
  change.only_thunks = true;
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
  change.only_thunks = true;
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
