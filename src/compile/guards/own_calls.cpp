#include "src/compile/guards/own_calls.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/dispatch/own_kernels.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

const TableEntry& entryWith(const OpState& state, DispatchKey above) {
  const DispatchKeySet keys = kPlainCpu.add(above);
  return state.lookup(keys & state.maskFor(keys));
}

}  // namespace

bool callsOwn(const Operator& op, EntryReason reason, bool may_autocast) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  const TableEntry& entry = state.lookup(kPlainCpu);
  const auto isPassed = [&](DispatchKey key) { return &entryWith(state, key) == &entry; };
  const auto isOwn = [&](DispatchKey key) { return isPassed(key) || detail::isOfThisLibrary(entryWith(state, key)); };
  return entry.reason == reason && detail::isOfThisLibrary(entry) && isPassed(DispatchKey::BackendSelect) &&
         (!may_autocast || isPassed(DispatchKey::AutocastCPU)) && isOwn(DispatchKey::AutogradCPU) &&
         isOwn(DispatchKey::ADInplaceOrView);
}

bool autocastPassesBy(const Operator& op) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  return &entryWith(state, DispatchKey::AutocastCPU) == &state.lookup(kPlainCpu);
}

}  // namespace shunt::compiled
