#include "src/dispatch/origins.h"

#include "src/dispatch/dispatcher_impl.h"

namespace shunt {

CallOrigins originsOf(const Operator& op, DispatchKeySet keys) {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  const OperatorEntry* entry = op.entry();
  SHUNT_CHECK(entry != nullptr && entry->state() != nullptr, "operator ", OperatorHandle(op).operator_name(),
              " is not registered");
  CallOrigins out{keys & entry->state()->maskFor(keys), {}};
  std::vector<DispatchKey> slots = keys.keys();
  if (slots.empty()) slots.push_back(DispatchKey::Undefined);
  for (DispatchKey key : slots) {
    const auto choice = TableComputer::choose(entry->kernels(), impl.fallbacks, key);
    const KernelRecord* record = choice.record;
    out.slots.push_back({key, choice.reason, record != nullptr ? placeOf(record->where) : "",
                         record != nullptr && record->kernel.unboxed == nullptr && !choice.fallthrough,
                         choice.fallthrough});
  }
  return out;
}

}  // namespace shunt
