#include "src/compile/backward/own_writes.h"

#include "src/compile/backward/joint.h"
#include "src/compile/passes/aliases.h"
#include "src/trace/writes.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

class OwnWrites {
 public:
  explicit OwnWrites(const Graph& graph) : graph_(graph), aliases_(graph), written_(aliases_.count()) {
    for (const Graph::Value* v : givenOf(graph))
      if (aliases_.isWritten(v)) written_[aliases_.of(v)] = true;
  }

  /// Whether the value may share memory with a given tensor that is written.
  bool has(const Graph::Value* v) const { return v != nullptr && written_[aliases_.of(v)]; }

  bool hasAny(const Graph::Argument& a) const {
    return std::ranges::any_of(a.values, [&](const Graph::Value* v) { return has(v); });
  }

  /// Whether all that the node does is to them: then it can be left out.
  bool hasAllOf(const Graph::Node& node) const {
    const auto isOne = [&](const Graph::Value* v) { return has(v); };
    return std::ranges::any_of(node.arguments, [&](const Graph::Argument& a) { return hasAny(a); }) &&
           std::ranges::all_of(node.outputs,
                               [&](const Graph::Output& o) { return std::ranges::all_of(o.values, isOne); });
  }

  void check() const {
    for (const Graph::Value* v : graph_.outputs())
      if (has(v)) refuse("the function returns a tensor that it was given and writes");
    for (const Graph::Value* v : givenOf(graph_))
      if (has(v) && v->spec.requires_grad)
        refuse("the function writes into a tensor that it was given, which requires grad");
    for (const Graph::Node* node : graph_.nodes()) check(*node);
  }

 private:
  void check(const Graph::Node& node) const {
    const bool all = hasAllOf(node);
    for (size_t i = 0; i < node.arguments.size(); ++i)
      if (!all && !trace_detail::writesUnsaid(node, i) && hasAny(node.arguments[i]))
        refuse("the function reads a tensor that it was given and writes");
    if (!all) return;
    if (drawsRandomNumbers(node.op)) refuse("the function writes random numbers into a tensor that it was given");
  }

  const Graph& graph_;
  const Aliases aliases_;
  std::vector<bool> written_;  // by group
};

}  // namespace

void checkOwnWrites(const Graph& graph) { OwnWrites(graph).check(); }

Graph withoutOwnWrites(const Graph& graph) {
  Graph out = graph.clone();
  const OwnWrites own(out);
  const std::vector<Graph::Node*> nodes = out.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (own.hasAllOf(**node)) {
      out.erase(*node);
      continue;
    }
    for (size_t i = 0; i < (*node)->arguments.size(); ++i)
      if (trace_detail::writesUnsaid(**node, i) && own.hasAny((*node)->arguments[i]))
        (*node)->arguments[i] = Graph::Argument(IValue());
  }
  return out;
}

}  // namespace shunt::compiled
