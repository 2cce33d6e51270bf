// What a trace knows beside its graph, for those who go on with it. For the thread that traces; before its TraceCall
// ends.
#pragma once

#include <shunt/trace/trace.h>

#include <unordered_set>
#include <utility>
#include <vector>

namespace shunt::detail {

struct TracedResults {
  /// What the function computed with and returned: real or fake tensors, without wrappers.
  static const std::vector<Tensor>& outputs(const TraceCall& call);
  /// Tensors that it captured, each with the one that stood for it.
  static const std::vector<std::pair<Tensor, Tensor>>& captured(const TraceCall& call);
  /// Operators that it called, those too that are not in the graph but their parts.
  static const std::unordered_set<const Operator*>& seen(const TraceCall& call);
};

}  // namespace shunt::detail
