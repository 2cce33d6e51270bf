#include "src/compile/guards/own_calls.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/dispatch/own_kernels.h"

namespace shunt::compiled {

const TableEntry& entryWith(const OpState& state, DispatchKeySet above) {
  const DispatchKeySet keys = kPlainCpu | above;
  return state.lookup(keys & state.maskFor(keys));
}

bool callsOwn(const Operator& op, EntryReason reason, bool may_autocast) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  const TableEntry& entry = state.lookup(kPlainCpu);
  const auto entryOf = [&](DispatchKey key) -> const TableEntry& { return entryWith(state, DispatchKeySet(key)); };
  const auto isPassed = [&](DispatchKey key) { return &entryOf(key) == &entry; };
  const auto isOwn = [&](DispatchKey key) { return isPassed(key) || detail::isOfThisLibrary(entryOf(key)); };
  return entry.reason == reason && detail::isOfThisLibrary(entry) && isPassed(DispatchKey::BackendSelect) &&
         (!may_autocast || isPassed(DispatchKey::AutocastCPU)) && isOwn(DispatchKey::AutogradCPU) &&
         isOwn(DispatchKey::ADInplaceOrView);
}

bool asksAutograd(const Operator& op) {
  const detail::CallFrame frame(op);
  if (!detail::isOfThisLibrary(entryWith(frame.state(op), DispatchKeySet(DispatchKey::AutogradCPU)))) return true;
  return op.name() == "aten::layer_norm" &&
         asksAutograd(Dispatcher::singleton().findSchemaOrThrow("aten::native_layer_norm").op());
}

bool autocastPassesBy(const Operator& op) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  return &entryWith(state, DispatchKeySet(DispatchKey::AutocastCPU)) == &state.lookup(kPlainCpu);
}

}  // namespace shunt::compiled
