#include "src/compile/program_kernels.h"

#include "src/compile/steps/grad_step.h"
#include "src/dispatch/own_kernels.h"

#include <algorithm>
#include <set>

namespace shunt::compiled {
namespace {

bool isOfProgram(const TableEntry& entry) {
  switch (entry.reason) {
    case EntryReason::kMissing:
    case EntryReason::kFallthrough:
    case EntryReason::kAmbiguousAutogradOther:
      return false;
    default:
      return !detail::isOfThisLibrary(entry);
  }
}

/// Of calls for tensors of this device, with the keys that they may have besides.
bool isOfProgram(const Operator& op, BackendComponent backend) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  const DispatchKeySet plain = DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(backend);
  const auto isAt = [&](DispatchKeySet keys) { return isOfProgram(state.lookup(keys & state.maskFor(keys))); };
  return isAt(plain) || std::ranges::any_of(kPassedByQuickCalls, [&](DispatchKey key) {
           return isAt(plain | DispatchKeySet(key).functionalities());
         });
}

}  // namespace

bool callsProgramKernels(const Graph& graph, const std::vector<const Operator*>& called) {
  std::set<BackendComponent> backends;
  const auto note = [&](const Graph::Value* v) {
    if (v != nullptr) backends.insert(backendOf(v->spec.device.type()));
  };
  std::ranges::for_each(graph.inputs(), note);
  std::ranges::for_each(graph.constants(), note);
  for (const Graph::Node* node : graph.nodes())
    for (const Graph::Output& out : node->outputs) std::ranges::for_each(out.values, note);
  return std::ranges::any_of(called, [&](const Operator* op) {
    return std::ranges::any_of(backends, [&](BackendComponent b) { return isOfProgram(*op, b); });
  });
}

}  // namespace shunt::compiled
