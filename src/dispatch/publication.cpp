// What a change does to the dispatcher's data: finds the thunks that have no place in the new states, and publishes in
// the order of Note [Thunks and the world] (publication.h).
#include "src/dispatch/publication.h"

#include "src/dispatch/changes.h"
#include "src/dispatch/dispatcher_impl.h"

#include <algorithm>
#include <array>

namespace shunt {

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
        change.stale.push_back({t, detail::str(OperatorHandle(*op).operator_name(), ": ", keyOfSlot(e.slot),
                                               " changed to ", toString(next.entry(e.slot).reason))});
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

std::string describe(const jit::Thunk& t) {
  return detail::str(OperatorHandle(*t.op).operator_name(), " keys={", toString(DispatchKeySet::fromRaw(t.keys)), "}");
}

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
  if (!change.only_thunks) detail::table_changes.fetch_add(1, std::memory_order_release);
}

void Dispatcher::Impl::publish(OperatorEntry& entry) {
  if (batch_thread == std::this_thread::get_id())
    batch.insert(&entry);
  else
    publishNow(std::array{&entry});
}

void Dispatcher::Impl::publishAll() {
  std::vector<OperatorEntry*> all;
  for (auto& [name, entry] : operators)
    if (entry->exists()) all.push_back(entry.get());
  if (batch_thread == std::this_thread::get_id())
    batch.insert(all.begin(), all.end());
  else
    publishNow(all);
}

namespace {

/// `entries` and their followers, followers first: publication goes in this order, so that who has met an operator's
/// new kernel meets no stand-in for the one before.
std::vector<OperatorEntry*> withFollowers(std::span<OperatorEntry* const> entries) {
  std::vector<OperatorEntry*> out;
  std::unordered_set<OperatorEntry*> seen;
  const auto add = [&](OperatorEntry* e) {
    if (seen.insert(e).second) out.push_back(e);
  };
  for (OperatorEntry* entry : entries) {
    if (entry->follows()) add(entry);
    for (OperatorEntry* follower : entry->followers()) add(follower);
  }
  for (OperatorEntry* entry : entries) add(entry);
  return out;
}

}  // namespace

void Dispatcher::Impl::publishNow(std::span<OperatorEntry* const> entries) {
  Change change;
  for (OperatorEntry* entry : withFollowers(entries))
    if (auto next = entry->recompute(fallbacks, world)) change.changed.push_back({entry, std::move(next)});
  if (change.changed.empty()) return;
  findStale(change);
  for (auto& [entry, next] : change.changed)
    if (const OpState* before = entry->state()) HotEntries::carry(*next, *before, change.stale, {});
  apply(change);
}

}  // namespace shunt
