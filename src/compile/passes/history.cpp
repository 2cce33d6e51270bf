// Note [History that nobody sees]
// A training step records its forward part for a backward pass that was traced too: its formulas stand in the graph as
// nodes, so the recorded nodes are never asked. Autograd's wrappers of such nodes only cost time. What is seen: the
// grad_fn of an output, of a captured tensor or input that is written with grad mode on, of what an operator of another
// library gets, or a program's kernel for Autograd, and of a grad that is kept with its graph. The analysis works on
// groups of values that may share memory, as in-place operators give their history to every alias, and follows what is
// seen back to its sources.
#include "src/compile/passes/history.h"

#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/host_node.h"
#include "src/trace/values_of.h"
#include "src/trace/writes.h"

#include <shunt/core/dispatch_key_set.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

constexpr uint64_t kAutograd = kAutogradKeys.functionalities().raw();

bool mayRecord(const Graph::Node& node) {
  return node.modes.grad && !node.modes.inference && (node.modes.excluded & kAutograd) == 0;
}

class Analysis {
 public:
  Analysis(const Graph& graph, const HistoryOptions& options)
      : graph_(graph),
        options_(options),
        nodes_(graph.nodes()),
        groups_(graph),
        renewing_(readersOfWrittenViews(graph, groups_)),
        requires_(groups_.count()),
        seen_(groups_.count()) {
    findWhatRequiresGrad();
    for (const Graph::Node* node : nodes_) markSeenBy(*node);
    if (options.of_outputs)
      for (const Graph::Value* v : graph.outputs())
        if (v != nullptr && (v->spec.requires_grad || groups_.isWritten(v))) seen_[groups_.of(v)] = true;
  }

  History find() {
    History out;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
        if (!out.recorded.contains(*node) && isSeen(**node)) {
          out.recorded.insert(*node);
          forArguments(**node, [&](size_t group) { seen_[group] = seen_[group] || requires_[group]; });
          changed = true;
        }
    }
    findLeaving(out);
    return out;
  }

 private:
  template <class F>
  void forArguments(const Graph::Node& node, F&& f) const {
    trace_detail::forArguments(node, [&](const Graph::Value* v) { f(groups_.of(v)); });
  }
  template <class F>
  void forResults(const Graph::Node& node, F&& f) const {
    trace_detail::forResults(node, [&](const Graph::Value* v) { f(groups_.of(v)); });
  }
  /// Results, and the tensors that it writes.
  template <class F>
  void forGiven(const Graph::Node& node, F&& f) const {
    forResults(node, f);
    const auto& wanted = node.op.schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i].is_write())
        trace_detail::forValues(node.arguments[i], [&](const Graph::Value* v) { f(groups_.of(v)); });
  }

  bool anyArgumentRequiresGrad(const Graph::Node& node) const {
    bool any = false;
    forArguments(node, [&](size_t group) { any = any || requires_[group]; });
    return any;
  }

  void findWhatRequiresGrad() {
    const auto given = [&](const Graph::Value* v) {
      if (v->spec.requires_grad || (v->constant.defined() && v->constant.requires_grad()))
        requires_[groups_.of(v)] = true;
    };
    std::ranges::for_each(graph_.inputs(), given);
    std::ranges::for_each(graph_.constants(), given);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Graph::Node* node : nodes_) {
        // What an operator of another library does to its arguments, or a grad brings with it, isn't known.
        if (isHostStep(*node)) continue;  // which gets addresses
        if (isOfDictionary(*node) && !(mayRecord(*node) && anyArgumentRequiresGrad(*node))) continue;
        forGiven(*node, [&](size_t group) {
          changed = changed || !requires_[group];
          requires_[group] = true;
        });
      }
    }
  }

  void markSeenBy(const Graph::Node& node) {
    if (node.is("trace::grad") || isHostStep(node)) return;
    // Of these two the second argument becomes a grad; with its graph only where that is recorded.
    const bool sets = node.is("trace::set_grad_"), adds = node.is("trace::accumulate_grad_");
    if ((sets || (adds && mayRecord(node))) && !node.arguments[1].values.empty())
      if (const Graph::Value* grad = node.arguments[1].values[0]) seen_[groups_.of(grad)] = true;
    if (sets || adds) return;
    const bool asks = mayRecord(node) && asksAutograd(node.op.op());
    if (!isOfDictionary(node) || asks) forArguments(node, [&](size_t group) { seen_[group] = true; });
    if (!mayRecord(node) || !node.op.schema().is_mutable()) return;
    forGiven(node, [&](size_t group) { seen_[group] = seen_[group] || groups_.holdsGiven(group); });
  }

  // A view requires grad as its base does, wherever it is made.
  bool isSeen(const Graph::Node& node) const {
    if (renewing_.contains(&node)) {
      bool reads_seen = false;
      forArguments(node, [&](size_t group) { reads_seen = reads_seen || (seen_[group] && requires_[group]); });
      if (reads_seen) return true;
    }
    if (!(mayRecord(node) || mayAlias(node)) || !anyArgumentRequiresGrad(node)) return false;
    bool any = false;
    forGiven(node, [&](size_t group) { any = any || seen_[group]; });
    return any;
  }

  void findLeaving(History& out) const {
    std::vector<bool> leaves(groups_.count());
    for (const Graph::Value* v : graph_.outputs())
      if (v != nullptr && (options_.views_of_outputs || groups_.holdsGiven(groups_.of(v))))
        leaves[groups_.of(v)] = true;
    for (const Graph::Node* node : nodes_)
      forResults(*node, [&](size_t group) {
        if (leaves[group]) out.leaving.insert(node);
      });
  }

  const Graph& graph_;
  const HistoryOptions options_;
  const std::vector<Graph::Node*> nodes_;
  const Aliases groups_;
  const std::unordered_set<const Graph::Node*> renewing_;
  std::vector<bool> requires_, seen_;  // by group
};

}  // namespace

std::unordered_set<const Graph::Node*> readersOfWrittenViews(const Graph& graph, const Aliases& aliases) {
  std::unordered_set<const Graph::Node*> out;
  std::unordered_set<size_t> written;
  for (const Graph::Node* node : graph.nodes()) {
    if (mayRecord(*node))
      trace_detail::forArguments(*node, [&](const Graph::Value* v) {
        const Graph::Value* tensor = aliases.tensorOf(v);
        const bool is_view = tensor->node != nullptr && mayAlias(*tensor->node);
        if (is_view && v->spec.requires_grad && written.contains(aliases.of(v))) out.insert(node);
      });
    trace_detail::forWritten(*node, [&](const Graph::Value* v) { written.insert(aliases.of(v)); });
  }
  return out;
}

History findHistory(const Graph& graph, const HistoryOptions& options) { return Analysis(graph, options).find(); }

}  // namespace shunt::compiled
