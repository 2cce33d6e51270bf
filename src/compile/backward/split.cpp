#include "src/compile/backward/split.h"

#include "src/compile/passes/aliases.h"
#include "src/compile/passes/same_views.h"
#include "src/trace/values_of.h"
#include "src/trace/writes.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace shunt::compiled {
namespace {

using trace_detail::forArguments;
using trace_detail::forResults;
using Values = std::vector<Graph::Value*>;

/// Whether the node changes what others see, so that it has to run where it stands.
bool mustRun(const Graph::Node& node) { return trace_detail::writesAny(node) || drawsRandomNumbers(node.op); }

/// Whether what it gives can be made again of its argument: a view of what the function doesn't write. What may be a
/// copy of it, as of reshape() and to(), is saved: its argument may be written after the function.
bool isMadeAgain(const Graph::Node& node, const Aliases& aliases) {
  return makesView(node) && node.result() != nullptr && !aliases.isWritten(node.result());
}

/// The nodes that `wanted` values come from, where `inputs` are there already, and all from `own` on that have effects.
std::unordered_set<const Graph::Node*> nodesFor(std::span<Graph::Node* const> nodes, size_t own, const Values& inputs,
                                                const Values& wanted) {
  std::unordered_set<const Graph::Value*> there(inputs.begin(), inputs.end()), needed(wanted.begin(), wanted.end());
  std::unordered_set<const Graph::Node*> out;
  for (size_t i = nodes.size(); i-- > 0;) {
    bool is_needed = i >= own && mustRun(*nodes[i]);
    forResults(*nodes[i], [&](const Graph::Value* v) { is_needed |= needed.contains(v) && !there.contains(v); });
    if (!is_needed) continue;
    out.insert(nodes[i]);
    forArguments(*nodes[i], [&](const Graph::Value* v) { needed.insert(v); });
  }
  return out;
}

/// A graph of these nodes. `remade`: of the first nodes, those that are no views record no history.
Graph partOf(const Graph& whole, const std::unordered_set<const Graph::Node*>& nodes, const Values& inputs,
             const Values& outputs, size_t remade = 0) {
  Graph part;
  std::unordered_map<const Graph::Value*, Graph::Value*> copies = {{nullptr, nullptr}};
  std::unordered_map<int64_t, int64_t> homes;
  for (const Graph::Value* v : inputs) {
    Graph::Value* copy = copies[v] = part.addInput(v->spec);
    if (v->kind != Graph::Value::Kind::kResult) {
      copy->storage = homes.try_emplace(v->storage, copy->id).first->second;
    } else {  // kept without its history; and never written, so that it doesn't matter whose memory it is in
      copy->spec.requires_grad = false;
      copy->spec.is_leaf = true;
    }
  }
  for (const Graph::Value* v : whole.constants())
    if (!copies.contains(v)) copies[v] = part.addConstant(v->constant);
  const auto copyOf = [&](const Graph::Value* v) {
    const auto found = copies.find(v);
    if (found == copies.end()) throw Error("its backward pass reads a tensor that isn't saved");
    return found->second;
  };
  size_t position = 0;
  for (const Graph::Node* node : whole.nodes()) {
    const bool is_remade = position++ < remade && !makesView(*node);
    if (!nodes.contains(node)) continue;
    Graph::Node copy(*node);
    copy.modes.grad &= !is_remade;
    for (Graph::Argument& a : copy.arguments)
      for (Graph::Value*& v : a.values) v = copyOf(v);
    Graph::Node* added = part.append(std::move(copy));
    for (Graph::Output& o : added->outputs)
      for (Graph::Value*& v : o.values)
        if (v != nullptr) {
          const Graph::Value* original = v;
          v = part.addResult(added, original->spec);
          v->spec.requires_grad &= !is_remade;
          v->spec.is_leaf |= is_remade;
          copies.try_emplace(original, v);
        }
  }
  Values left;
  for (const Graph::Value* v : outputs) left.push_back(copyOf(v));
  part.setOutputs(std::move(left));
  return part;
}

/// All but the gradient.
Values inputsOf(const Joint& joint) {
  Values out = joint.graph.inputs();
  std::erase(out, joint.gradient);
  return out;
}

Values givenTo(const Joint& joint) {
  Values out = inputsOf(joint);
  out.insert(out.end(), joint.graph.constants().begin(), joint.graph.constants().end());
  return out;
}

/// `v`: a result of the node at this position.
SavedValue placeOf(const Graph::Value* v, size_t position) {
  SavedValue out{false, position};
  for (; out.output < v->node->outputs.size(); ++out.output) {
    const auto& values = v->node->outputs[out.output].values;
    const auto found = std::ranges::find(values, v);
    if (found == values.end()) continue;
    out.element = static_cast<size_t>(found - values.begin());
    break;
  }
  return out;
}

/// What shows the same as the value does, in a tensor that the part makes: backward formulas end in views of views.
Graph::Value* shownBy(Graph::Value* v, const Aliases& aliases) {
  Graph::Value* out = v;
  for (Graph::Value* base = v; base != nullptr && base->node != nullptr;) {
    if (base->spec.sizes == v->spec.sizes && base->spec.strides == v->spec.strides &&
        base->spec.dtype == v->spec.dtype && base->spec.offset == v->spec.offset)
      out = base;
    base = isMadeAgain(*base->node, aliases) ? base->node->arguments[0].value() : nullptr;
  }
  return out;
}

}  // namespace

std::vector<SavedValue> savedFor(const Joint& joint) {
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  const Values given = givenTo(joint);
  const Aliases aliases(joint.graph);
  std::vector<SavedValue> out;
  std::unordered_set<const Graph::Value*> needed(joint.contributed.begin(), joint.contributed.end());
  for (size_t i = nodes.size(); i-- > 0;) {
    const Graph::Node& node = *nodes[i];
    // All nodes of the pass: what they read is checked, as in eager code, also where nobody needs what comes of it.
    const bool is_backwards = i >= joint.forward_nodes;
    bool is_needed = is_backwards;
    forResults(node, [&](const Graph::Value* v) { is_needed |= needed.contains(v); });
    if (!is_needed) continue;
    if (is_backwards || isMadeAgain(node, aliases))
      forArguments(node, [&](const Graph::Value* v) { needed.insert(v); });
    else
      forResults(node, [&](const Graph::Value* v) {
        if (needed.contains(v)) out.push_back(placeOf(v, i));
      });
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (needed.contains(given[i])) out.push_back({true, i});
  return out;
}

std::vector<Graph::Value*> valuesOf(const Joint& joint, const std::vector<SavedValue>& saved) {
  const Values given = givenTo(joint);
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  Values out;
  for (const SavedValue& s : saved)
    out.push_back(s.is_given ? given[s.number] : nodes[s.number]->outputs[s.output].values[s.element]);
  return out;
}

Graph forwardOf(const Joint& joint, const std::vector<SavedValue>& saved) {
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  Values outputs = joint.graph.outputs();
  std::vector<SavedValue> made = saved;
  std::erase_if(made, [](const SavedValue& s) { return s.is_given; });
  const Values values = valuesOf(joint, made);
  outputs.insert(outputs.end(), values.begin(), values.end());
  // With what nobody needs, which may throw: the plan knows.
  const std::unordered_set<const Graph::Node*> all(nodes.begin(),
                                                   nodes.begin() + static_cast<ptrdiff_t>(joint.forward_nodes));
  return partOf(joint.graph, all, inputsOf(joint), outputs);
}

Graph remadeOf(const Joint& joint, const std::vector<SavedValue>& saved, const std::vector<SavedValue>& remade) {
  const Values inputs = valuesOf(joint, saved), outputs = valuesOf(joint, remade);
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  return partOf(joint.graph, nodesFor(nodes, nodes.size(), inputs, outputs), inputs, outputs, nodes.size());
}

Graph backwardOf(const Joint& joint, const std::vector<SavedValue>& saved, bool of_any_layout) {
  Values inputs = valuesOf(joint, saved);
  inputs.push_back(joint.gradient);
  const auto needed = nodesFor(joint.graph.nodes(), joint.forward_nodes, inputs, joint.contributed);
  Graph out = partOf(joint.graph, needed, inputs, joint.contributed, joint.forward_nodes);
  for (const Graph::Value* v : out.constants())
    if (!out.users(v).empty()) throw Error("its backward pass reads a captured tensor that isn't saved");
  const Aliases aliases(out);
  Values shown;
  for (Graph::Value* v : out.outputs()) shown.push_back(of_any_layout ? v : shownBy(v, aliases));
  out.setOutputs(std::move(shown));
  out.eliminate_dead_code();
  return out;
}

}  // namespace shunt::compiled
