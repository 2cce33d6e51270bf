// What a trace knows beside its graph, for those who go on with it. For the thread that traces; before its TraceCall
// ends.
#pragma once

#include <shunt/trace/trace.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::detail {

struct TracedResults {
  /// Before the function runs: which composites are recorded as what they call although no gradient needs that.
  static void takeApart(TraceCall& call, std::function<bool(const OperatorHandle&)> which);
  /// Before it runs: it may not ask for a pointer to the elements of a tensor from outside, nor make a tensor over
  /// memory that isn't Shunt's.
  static void refuseElements(TraceCall& call);
  /// What the function computed with and returned: real or fake tensors, without wrappers.
  static const std::vector<Tensor>& outputs(const TraceCall& call);
  /// Tensors that it captured, each with the one that stood for it.
  static const std::vector<std::pair<Tensor, Tensor>>& captured(const TraceCall& call);
  /// Operators that it called, and those that they called or that levels of vmap and grad asked, with their tables'
  /// fingerprints at first.
  static SHUNT_API const std::unordered_map<const Operator*, uint64_t>& seen(const TraceCall& call);
  /// Whether it made or seeded a generator; where, after refuseElements(): " (called from ...)", or empty.
  static bool seeded(const TraceCall& call);
  static const std::string& seededAt(const TraceCall& call);
  /// Whether it ran the engine; made gradients with a graph.
  static bool differentiated(const TraceCall& call);
  static bool createdGraph(const TraceCall& call);
  /// Whether autograd saved clones of what it wrote in place.
  static bool savedClones(const TraceCall& call);
  /// Whether it asked for the version of a tensor that was there before, whose place in the graph another one takes.
  static bool readVersionFromOutside(const TraceCall& call);
  /// Whether it asked where in its storage such a tensor begins.
  static bool readOffsetFromOutside(const TraceCall& call);
  /// Whether it called operators while the default dtype was another one than at the start. No node has it.
  static bool calledWithOtherDtype(const TraceCall& call);
  static const std::string& readVersionAt(const TraceCall& call);
  /// After finish(): wrappers that somebody still holds, and the values of the graph that they stand for.
  static std::vector<std::pair<Tensor, const Graph::Value*>> living(const TraceCall& call);
};

}  // namespace shunt::detail
