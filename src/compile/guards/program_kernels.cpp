#include "src/compile/guards/program_kernels.h"

#include "src/dispatch/own_kernels.h"

#include <algorithm>
#include <set>

namespace shunt::compiled {

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
    return std::ranges::any_of(backends, [&](BackendComponent b) { return detail::mayRunProgramKernel(*op, b); });
  });
}

}  // namespace shunt::compiled
