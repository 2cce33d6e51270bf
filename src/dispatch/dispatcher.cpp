#include "src/base/error_context.h"
#include "src/core/thread_records.h"
#include "src/dispatch/dangling.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"
#include "src/dispatch/unknown_operator.h"

#include <shunt/core/fork.h>
#include <shunt/core/log.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

namespace shunt {
namespace {

const char* persistentText(const std::string& s) {
  char* copy = new char[s.size() + 1];  // operators are never destroyed
  std::memcpy(copy, s.c_str(), s.size() + 1);
  return copy;
}

template <class F>
bool holdSameFunction(const KernelFunction& a, const KernelFunction& b) {
  const auto* first = dynamic_cast<const boxing::BoxedFunctor<F>*>(a.functor.get());
  const auto* second = dynamic_cast<const boxing::BoxedFunctor<F>*>(b.functor.get());
  return first != nullptr && second != nullptr && first->f_ == second->f_;
}

// Also what holds one function twice, as two libraries' registrations of it do.
bool isSameFallback(const KernelFunction& a, const KernelFunction& b) {
  return a == b || holdSameFunction<void (*)(const OperatorHandle&, Stack*)>(a, b) ||
         holdSameFunction<void (*)(const OperatorHandle&, DispatchKeySet, Stack*)>(a, b);
}

using Told = void (OpRegistrationListener::*)(const OperatorHandle&);

// The change has been made, and may be a destructor's: what a listener throws can't undo it.
void tell(const std::vector<std::shared_ptr<OpRegistrationListener>>& listeners, Told told,
          const OperatorHandle& op) noexcept {
  const auto warn = [&](const char* error) {
    detail::logWarning(
        detail::str("a registration listener threw when told that the operator ", op.operator_name(), " was ",
                    told == &OpRegistrationListener::onOperatorRegistered ? "registered: " : "deregistered: ", error));
  };
  for (const auto& listener : listeners) try {
      (listener.get()->*told)(op);
    } catch (const std::exception& e) {
      warn(e.what());
    } catch (...) {
      warn("not a std::exception");
    }
}

/// What a definition's kernels must have before it is made; what stands under its name already is looked at later.
void checkKernelsOfDefinition(const FunctionSchema& schema, std::span<const KernelForKey> kernels,
                              std::source_location where) {
  const std::string place = placeOf(where);
  const CppSignature* first = nullptr;
  for (const KernelForKey& k : kernels) {
    const CppSignature* const signature = k.kernel.signature;
    if (signature == nullptr) continue;
    if (first == nullptr) first = signature;
    SHUNT_CHECK(*signature == *first, "Mismatch in kernel C++ signatures of operator ", schema.operator_name(), ": ",
                first->str(), " and ", signature->str(), " for ", k.key, " at ", place);
    checkSignatureAgainstSchema(schema, place, *signature, place);
  }
}

}  // namespace

Dispatcher& Dispatcher::singleton() {
  static Dispatcher* const dispatcher = new Dispatcher;  // never destroyed: handles may outlive main
  return *dispatcher;
}

Dispatcher::Dispatcher() : impl_(new Impl) {
  detail::holdAcrossFork(
      1, []() SHUNT_TSA(no_thread_safety_analysis) { singleton().impl_->mutex.lock(); },
      []() SHUNT_TSA(no_thread_safety_analysis) { singleton().impl_->mutex.unlock(); },
      []() SHUNT_TSA(no_thread_safety_analysis) {
        // What other threads were deleting nobody deletes here.
        Impl::being_freed.store(Impl::being_freed_here, std::memory_order_relaxed);
        singleton().impl_->mutex.unlock();
      });
  detail::error_context.store(&nameRunningOperators, std::memory_order_release);
  logDanglingImplsAtExit();
}

OperatorEntry& Dispatcher::Impl::entryFor(const OperatorName& name) {
  if (const auto known = operators.find(name); known != operators.end()) return *known->second;
  auto* op = new Operator(persistentText(name.name), persistentText(name.overload_name));
  auto entry = std::make_unique<OperatorEntry>(op);  // before there is a place for it, which would stay empty
  return *operators.emplace(name, std::move(entry)).first->second;
}

std::vector<const OpState*> Dispatcher::Impl::collect(bool always) {
  std::vector<const OpState*> out;
  if (!always && reclaimer.retiredCount() < next_reclaim) return out;
  out.reserve(reclaimer.retiredCount());  // taking a state out must not throw
  freed += reclaimer.reclaim([](auto&& visit) { detail::forEachThreadFrames(visit); },
                             [&](const OpState* s) { out.push_back(s); });
  next_reclaim = reclaimer.retiredCount() + kReclaimEvery;
  being_freed.fetch_add(out.size(), std::memory_order_relaxed);
  return out;
}

void Dispatcher::Impl::waitUntilFreed() {
  // Deleting thunks and functors takes microseconds, but functors' destructors are users'.
  auto pause = std::chrono::microseconds(10);
  while (being_freed_here == 0 && being_freed.load(std::memory_order_acquire) != 0) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
}

void Dispatcher::Impl::drain() {
  std::vector<const OpState*> waiting;
  {
    MutexLock lock(mutex);
    waiting = reclaimer.retired();
  }
  for (auto pause = std::chrono::microseconds(10);; pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
    SHUNT_CHECK(detail::HardwarePlatform::barrierAll(),
                "Library::drain: this system has no membarrier(2), without which nobody ",
                "knows what other threads' calls use; the library has to stay loaded");
    {
      AfterUnlock after;
      MutexLock lock(mutex);
      after.states = collect(true);
      // At worst a later state at the same place is waited for as well.
      const auto& retired = reclaimer.retired();
      std::erase_if(waiting,
                    [&](const OpState* s) { return std::find(retired.begin(), retired.end(), s) == retired.end(); });
    }
    if (waiting.empty()) return waitUntilFreed();
    std::this_thread::sleep_for(pause);
  }
}

std::optional<OperatorHandle> Dispatcher::findOp(const OperatorName& name) const {
  MutexLock lock(impl_->mutex);
  const auto it = impl_->operators.find(name);
  if (it == impl_->operators.end() || !it->second->exists()) return std::nullopt;
  return OperatorHandle(*it->second->op());
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) const {
  auto op = findOp(name);
  return op && op->hasSchema() ? op : std::nullopt;
}

OperatorHandle Dispatcher::findSchemaOrThrow(const char* name, const char* overload) const {
  const OperatorName wanted(name, overload);
  if (auto op = findSchema(wanted)) return *op;
  throw Error(detail::str("Could not find schema for ", wanted, ": ", whyNotFound(wanted)));
}

std::vector<OperatorName> Dispatcher::getAllOpNames() const {
  std::vector<OperatorName> out;
  {
    MutexLock lock(impl_->mutex);
    for (const auto& [name, entry] : impl_->operators)
      if (entry->exists()) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void Dispatcher::bindOperator(Operator& op) {
  MutexLock lock(impl_->mutex);
  const OperatorName name(std::string(op.name()), std::string(op.overload()));
  auto& slot = impl_->operators[name];
  SHUNT_CHECK(slot == nullptr, "operator ", name, " was registered before its symbol was bound");
  slot = std::make_unique<OperatorEntry>(&op);
}

void Dispatcher::Impl::checkDefinition(const FunctionSchema& schema, std::source_location where) const {
  const auto it = operators.find(schema.operator_name());
  if (it == operators.end()) return;
  const OperatorEntry& entry = *it->second;
  if (const SchemaRecord* before = entry.schema())
    throw Error(detail::str("Tried to register an operator (", schema, ") with the same name and overload name twice.",
                            "\n  first defined at ", before->place, " as ", before->schema, "\n  now at           ",
                            placeOf(where),
                            "\nGive one of them another overload name, or define it in one place only."));
  if (entry.signature() != nullptr)
    checkSignatureAgainstSchema(schema, placeOf(where), *entry.signature(), entry.signature_place());
}

void Dispatcher::Impl::checkKernel(const OperatorName& name, DispatchKey key, const KernelFunction& kernel,
                                   std::source_location where) const {
  SHUNT_CHECK(isRuntimeKey(key) || isAliasKey(key), "impl(", name,
              "): not a dispatch key that kernels can be registered for");
  const auto it = operators.find(name);
  if (it == operators.end() || kernel.signature == nullptr) return;
  const OperatorEntry& entry = *it->second;
  if (entry.signature() != nullptr && !(*entry.signature() == *kernel.signature))
    throw Error(detail::str("Mismatch in kernel C++ signatures of operator ", name,
                            "\n  first: ", entry.signature()->str(), "\n         from ", entry.signature_place(),
                            "\n  now:   ", kernel.signature->str(), "\n         for ", key, " at ", placeOf(where)));
  if (const SchemaRecord* schema = entry.schema())
    checkSignatureAgainstSchema(schema->schema, schema->place, *kernel.signature, placeOf(where));
  if (const std::string asked = entry.askedOtherThan(*kernel.signature); !asked.empty())
    throw Error(detail::str("Mismatch in kernel C++ signatures of operator ", name,
                            ": a typed<>() handle of another signature would call this kernel wrongly", asked,
                            "\n  now:   ", kernel.signature->str(), "\n         for ", key, " at ", placeOf(where)));
}

uint64_t Dispatcher::Impl::addDefinition(OperatorEntry& entry, FunctionSchema schema, std::source_location where) {
  const uint64_t id = ++next_id;
  entry.setSchema(std::move(schema), placeOf(where), id);
  return id;
}

uint64_t Dispatcher::Impl::addKernel(OperatorEntry& entry, DispatchKey key, KernelFunction kernel,
                                     std::source_location where, const StandInFor& stands_in) {
  if (kernel.signature != nullptr && entry.signature() == nullptr) entry.setSignature(kernel.signature, placeOf(where));
  const uint64_t id = ++next_id;
  entry.addKernel(key, KernelRecord{id, std::move(kernel), where, stands_in});
  return id;
}

RegistrationHandle Dispatcher::Impl::handleOfDefinition(OperatorEntry& entry, uint64_t id) {
  return RegistrationHandle([this, &entry, id] {
    AfterUnlock after;
    {
      MutexLock lock(mutex);
      if (entry.schema() == nullptr || entry.schema_id() != id) return;
      after.listeners = listeners;
      entry.clearSchema();
      publish(entry);
      after.states = collect(false);
    }
    after.freeStates();
    tell(after.listeners, &OpRegistrationListener::onOperatorDeregistered, OperatorHandle(*entry.op()));
  });
}

RegistrationHandle Dispatcher::Impl::handleOfKernel(OperatorEntry& entry, DispatchKey key, uint64_t id) {
  return RegistrationHandle([this, &entry, key, id] {
    AfterUnlock after;
    MutexLock lock(mutex);
    after.kernel = entry.removeKernel(key, id);
    publish(entry);
    after.states = collect(false);
  });
}

RegistrationHandle Dispatcher::registerDef(FunctionSchema schema, std::source_location where) {
  return std::move(registerDef(std::move(schema), {}, where).front());
}

std::vector<RegistrationHandle> Dispatcher::registerDef(FunctionSchema schema, std::span<const KernelForKey> kernels,
                                                        std::source_location where) {
  const OperatorName name = schema.operator_name();
  checkKernelsOfDefinition(schema, kernels, where);
  AfterUnlock after;
  OperatorEntry* entry = nullptr;
  uint64_t definition = 0;
  std::vector<uint64_t> ids;
  ids.reserve(kernels.size());
  std::vector<RegistrationHandle> handles;
  handles.reserve(kernels.size() + 1);
  {
    MutexLock lock(impl_->mutex);
    impl_->checkDefinition(schema, where);
    for (const KernelForKey& k : kernels) impl_->checkKernel(name, k.key, k.kernel, where);
    entry = &impl_->entryFor(name);
    definition = impl_->addDefinition(*entry, std::move(schema), where);
    try {
      for (const KernelForKey& k : kernels) ids.push_back(impl_->addKernel(*entry, k.key, k.kernel, where, {}));
      impl_->publish(*entry);
    } catch (...) {  // memory has ended, and nothing was published
      for (size_t i = 0; i < ids.size(); ++i) entry->removeKernel(kernels[i].key, ids[i]);
      entry->clearSchema();
      throw;
    }
    after.states = impl_->collect(false);
    after.listeners = impl_->listeners;
  }
  after.freeStates();
  tell(after.listeners, &OpRegistrationListener::onOperatorRegistered, OperatorHandle(*entry->op()));
  handles.push_back(impl_->handleOfDefinition(*entry, definition));
  for (size_t i = 0; i < kernels.size(); ++i) handles.push_back(impl_->handleOfKernel(*entry, kernels[i].key, ids[i]));
  return handles;
}

RegistrationHandle Dispatcher::registerImpl(OperatorName name, DispatchKey key, KernelFunction kernel,
                                            std::source_location where) {
  return impl_->registerKernel(name, key, std::move(kernel), where, {});
}

RegistrationHandle Dispatcher::Impl::registerKernel(const OperatorName& name, DispatchKey key, KernelFunction kernel,
                                                    std::source_location where, const StandIn& as) {
  AfterUnlock after;
  MutexLock lock(mutex);
  checkKernel(name, key, kernel, where);
  OperatorEntry* const other = as.other != nullptr ? as.other->entry() : nullptr;
  if (as.other != nullptr) {
    const auto it = operators.find(name);
    const bool followed = it != operators.end() && (!it->second->followers().empty() || it->second.get() == other);
    SHUNT_CHECK(other != nullptr && !other->follows() && !followed, "operator ", name,
                ": a stand-in of it can't wait for ", OperatorHandle(*as.other).operator_name(),
                other == nullptr ? ", which is not registered" : ", since one of them has both stand-ins and followers",
                "; at ", placeOf(where));
  }
  OperatorEntry& entry = entryFor(name);
  if (other != nullptr) other->addFollower(&entry);
  const uint64_t id = addKernel(entry, key, std::move(kernel), where, {other, as.built_in, as.composite});
  publish(entry);
  after.states = collect(false);
  return handleOfKernel(entry, key, id);
}

RegistrationHandle Dispatcher::registerFallback(DispatchKey key, KernelFunction kernel, std::source_location where) {
  SHUNT_CHECK(isRuntimeKey(key) && key != DispatchKey::Undefined, "fallback: ", key,
              " is not a run-time key; a fallback needs exactly one");
  SHUNT_CHECK(kernel.signature == nullptr, "fallback for ", key,
              ": a fallback serves operators of every signature, so it has to be boxed ",
              "(CppFunction::makeFromBoxed) or a fallthrough; got ",
              kernel.signature != nullptr ? kernel.signature->str() : "", " at ", placeOf(where));
  AfterUnlock after;
  uint64_t id = 0;
  {
    MutexLock lock(impl_->mutex);
    const KernelRecord* before = impl_->fallbacks.find(key);
    if (before != nullptr && !before->is_default && !isSameFallback(before->kernel, kernel))
      throw Error(detail::str("Tried to register multiple backend fallbacks for the same dispatch key ", key,
                              "; previous registration ", placeOf(before->where), ", new registration ", placeOf(where),
                              ". Take the first back before."));
    id = ++impl_->next_id;
    impl_->fallbacks.add(key, KernelRecord{id, std::move(kernel), where});
    impl_->publishAll();
    after.states = impl_->collect(false);
  }
  return RegistrationHandle([this, key, id] {
    AfterUnlock after;
    MutexLock lock(impl_->mutex);
    after.kernel = impl_->fallbacks.remove(key, id);
    impl_->publishAll();
    after.states = impl_->collect(false);
  });
}

RegistrationHandle Dispatcher::registerLibrary(std::string ns, std::source_location where) {
  MutexLock lock(impl_->mutex);
  for (const LibraryRecord& l : impl_->libraries)
    if (l.ns == ns)
      throw Error(detail::str("Only a single TORCH_LIBRARY or SHUNT_LIBRARY can be used to register the namespace ", ns,
                              "; first at ", placeOf(l.where), ", now at ", placeOf(where),
                              ". Put everything in one block, or use SHUNT_LIBRARY_FRAGMENT for the others."));
  impl_->libraries.push_back({ns, where});
  return RegistrationHandle([this, ns] {
    MutexLock lock(impl_->mutex);
    std::erase_if(impl_->libraries, [&](const LibraryRecord& l) { return l.ns == ns; });
  });
}

RegistrationHandle Dispatcher::addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener) {
  SHUNT_CHECK(listener != nullptr, "addRegistrationListener: the listener is null");
  std::shared_ptr<OpRegistrationListener> shared = std::move(listener);
  OpRegistrationListener* const address = shared.get();
  // Added only once it has been told of just what there is: until then only this thread tells it, and it may throw.
  using Definitions = std::map<OperatorName, std::pair<const Operator*, uint64_t>>;
  for (Definitions told, now;; told = std::exchange(now, {})) {
    {
      MutexLock lock(impl_->mutex);
      for (const auto& [name, entry] : impl_->operators)
        if (entry->schema() != nullptr) now.emplace(name, std::pair(entry->op(), entry->schema_id()));
      if (now == told) {
        impl_->listeners.push_back(shared);
        break;
      }
    }
    const auto has = [](const Definitions& all, const Definitions::value_type& d) {
      const auto it = all.find(d.first);
      return it != all.end() && it->second == d.second;
    };
    for (const auto& d : told)
      if (!has(now, d)) shared->onOperatorDeregistered(OperatorHandle(*d.second.first));
    for (const auto& d : now)
      if (!has(told, d)) shared->onOperatorRegistered(OperatorHandle(*d.second.first));
  }
  return RegistrationHandle([this, address] {
    std::vector<std::shared_ptr<OpRegistrationListener>> removed;
    MutexLock lock(impl_->mutex);
    auto& all = impl_->listeners;
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& l) { return l.get() == address; });
    if (it == all.end()) return;
    removed.push_back(std::move(*it));
    all.erase(it);
  });
}

Dispatcher::Batch::Batch() {
  Impl& impl = singleton().implForHandles();
  MutexLock lock(impl.mutex);
  active_ = !impl.batch_thread.has_value();
  if (active_) impl.batch_thread = std::this_thread::get_id();
}

Dispatcher::Batch::~Batch() {
  if (!active_) return;
  AfterUnlock after;
  Impl& impl = singleton().implForHandles();
  MutexLock lock(impl.mutex);
  impl.batch_thread.reset();
  impl.publishNow(std::vector<OperatorEntry*>(impl.batch.begin(), impl.batch.end()));
  impl.batch.clear();
  after.states = impl.collect(false);
}

Dispatcher::Stats Dispatcher::stats() const {
  MutexLock lock(impl_->mutex);
  return {impl_->operators.size(), impl_->published, impl_->reclaimer.retiredCount(), impl_->freed};
}

size_t Dispatcher::reclaim() {
  AfterUnlock after;
  MutexLock lock(impl_->mutex);
  after.states = impl_->collect(true);
  return after.states.size();
}

}  // namespace shunt
