// The dispatcher's state. Private to src/dispatch.
#pragma once

#include "src/base/mutex.h"
#include "src/core/settings.h"
#include "src/dispatch/hot_entries.h"
#include "src/dispatch/operator_entry.h"

#include <shunt/core/stand_in.h>

#include <deque>
#include <thread>
#include <unordered_map>
#include <unordered_set>

namespace shunt {

struct LibraryRecord {
  std::string ns;
  std::source_location where;
};

/// One change made ready for world::publishChange: new states, or a setting's value, and the thunks that have no place
/// then.
struct Change {
  struct SettingChange {
    Setting setting;
    const std::string& becomes;
    FunctionRef<void()> store;  // throws nothing
  };
  struct Next {
    OperatorEntry* entry;
    std::unique_ptr<OpState> state;
  };
  std::vector<Next> changed;
  std::optional<SettingChange> setting;
  std::vector<Next> dependants;
  std::vector<StaleThunk> stale;
  bool only_thunks = false;  // come and go: what operators do stays as it was
};

struct Dispatcher::Impl {
  mutable Mutex mutex;
  std::unordered_map<OperatorName, std::unique_ptr<OperatorEntry>> operators SHUNT_GUARDED_BY(mutex);
  KernelMap fallbacks SHUNT_GUARDED_BY(mutex);
  std::vector<LibraryRecord> libraries SHUNT_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<OpRegistrationListener>> listeners SHUNT_GUARDED_BY(mutex);
  world::Reclaimer<detail::HardwarePlatform, OpState> reclaimer SHUNT_GUARDED_BY(mutex);
  uint64_t world SHUNT_GUARDED_BY(mutex) = 0;
  uint64_t next_id SHUNT_GUARDED_BY(mutex) = 0;
  size_t published SHUNT_GUARDED_BY(mutex) = 0;
  size_t freed SHUNT_GUARDED_BY(mutex) = 0;
  size_t next_reclaim SHUNT_GUARDED_BY(mutex) = kReclaimEvery;

  // A Dispatcher::Batch: whose it is, and the operators it has yet to publish.
  std::optional<std::thread::id> batch_thread SHUNT_GUARDED_BY(mutex);
  std::unordered_set<OperatorEntry*> batch SHUNT_GUARDED_BY(mutex);

  // Compiled code (thunk.h): thunks in force that rely on other operators' tables, under each such operator, or on
  // process-wide settings, under null; and what went.
  std::unordered_multimap<const Operator*, jit::Thunk*> dependants SHUNT_GUARDED_BY(mutex);
  std::deque<jit::InvalidationRecord> invalidations SHUNT_GUARDED_BY(mutex);
  bool accept_thunks SHUNT_GUARDED_BY(mutex) = true;

  /// States that were collected and are not deleted yet; grows under the mutex. And those of them that this thread is
  /// deleting: it must not wait for itself.
  static inline std::atomic<size_t> being_freed{0};
  static inline constinit thread_local size_t being_freed_here SHUNT_TLS_MODEL = 0;

  static constexpr size_t kReclaimEvery = 64;
  static constexpr size_t kLoggedInvalidations = 1024;

  OperatorEntry& entryFor(const OperatorName& name) SHUNT_REQUIRES(mutex);
  /// Throw where the registrations that there are, or what typed<>() was asked for, leave no place for it.
  void checkDefinition(const FunctionSchema& schema, std::source_location where) const SHUNT_REQUIRES(mutex);
  void checkKernel(const OperatorName& name, DispatchKey key, const KernelFunction& kernel,
                   std::source_location where) const SHUNT_REQUIRES(mutex);
  /// Record it, checked, and return its id; the caller publishes the entry.
  uint64_t addDefinition(OperatorEntry& entry, FunctionSchema schema, std::source_location where) SHUNT_REQUIRES(mutex);
  uint64_t addKernel(OperatorEntry& entry, DispatchKey key, KernelFunction kernel, std::source_location where,
                     const StandInFor& stands_in) SHUNT_REQUIRES(mutex);
  /// Take it back.
  RegistrationHandle handleOfDefinition(OperatorEntry& entry, uint64_t id);
  RegistrationHandle handleOfKernel(OperatorEntry& entry, DispatchKey key, uint64_t id);
  /// registerImpl, and registerStandIn, which says what `kernel` waits for.
  RegistrationHandle registerKernel(const OperatorName& name, DispatchKey key, KernelFunction kernel,
                                    std::source_location where, const StandIn& as) SHUNT_EXCLUDES(mutex);
  void publish(OperatorEntry& entry) SHUNT_REQUIRES(mutex);
  void publishAll() SHUNT_REQUIRES(mutex);
  /// R2 to R5: one change, of those of `entries` and their followers whose tables are not what the registrations say.
  void publishNow(std::span<OperatorEntry* const> entries) SHUNT_REQUIRES(mutex);
  /// The thunks that rely on an entry or a setting that `change` changes, and their operators' states without them.
  void findStale(Change& change) SHUNT_REQUIRES(mutex);
  void forgetDependant(const jit::Thunk& thunk) SHUNT_REQUIRES(mutex);
  /// Publishes what was made ready. Throws before anything is published or not at all.
  void apply(Change& change) SHUNT_REQUIRES(mutex);
  /// Takes out what may be freed now; the caller deletes it after unlocking.
  std::vector<const OpState*> collect(bool always) SHUNT_REQUIRES(mutex);
  /// Waits until what threads had collected by now is deleted: destructors of functors are a library's code. Inside
  /// such a destructor it returns at once. The lock must not be held.
  static void waitUntilFreed();
  /// Waits until no call of another thread uses a state that is retired by now, and all those are deleted.
  void drain();
};

/// What a change leaves to be done without the lock: free states, run functors' destructors, tell listeners.
class AfterUnlock {
 public:
  ~AfterUnlock() { freeStates(); }
  /// Before listeners are told: other threads may be waiting for it, and a listener for those threads.
  void freeStates() {
    const size_t count = states.size();
    Dispatcher::Impl::being_freed_here += count;
    for (const OpState* s : states) freeState(s);
    Dispatcher::Impl::being_freed_here -= count;
    Dispatcher::Impl::being_freed.fetch_sub(count, std::memory_order_release);
    states.clear();
  }
  std::vector<const OpState*> states;
  std::optional<KernelRecord> kernel;
  std::vector<std::shared_ptr<OpRegistrationListener>> listeners;
};

}  // namespace shunt
