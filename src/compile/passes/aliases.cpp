#include "src/compile/passes/aliases.h"

#include "src/compile/passes/casts.h"
#include "src/compile/passes/host_node.h"
#include "src/trace/writes.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace shunt::compiled {

bool isOfDictionary(const Graph::Node& node) { return node.op.op().name().starts_with("aten::"); }

// dropout returns its argument where it drops nothing; to() does where the dtype is the tensor's already.
bool mayAlias(const Graph::Node& node) {
  if (isHostStep(node)) return false;
  return (node.op.schema().hasAnyAliasInfo() && !isCast(node)) || drawsRandomNumbers(node.op) ||
         trace_detail::sharesUnsaid(node) || !isOfDictionary(node);
}

const Graph::Value* writtenInPlace(const Graph::Node& node) {
  const FunctionSchema& schema = node.op.schema();
  const bool one = isOfDictionary(node) && schema.isInplace() && node.outputs.size() == 1 && !node.outputs[0].is_list;
  return one && node.outputs[0].values[0] != nullptr ? node.arguments[0].value() : nullptr;
}

Aliases::Aliases(const Graph& graph, bool grads_apart)
    : grads_apart_(grads_apart),
      group_(2 * static_cast<size_t>(graph.idBound())),
      tensors_(static_cast<size_t>(graph.idBound())),
      written_(group_.size()),
      given_(group_.size()) {
  std::iota(group_.begin(), group_.end(), size_t{0});
  const auto nodes = graph.nodes();
  for (const auto* list : {&graph.inputs(), &graph.constants()})
    for (const Graph::Value* v : *list) tensors_[static_cast<size_t>(v->id)] = v;
  for (const Graph::Node* node : nodes)
    trace_detail::forResults(*node, [&](const Graph::Value* v) {
      const Graph::Value* written = writtenInPlace(*node);
      tensors_[static_cast<size_t>(v->id)] = written != nullptr ? tensorOf(written) : v;
    });
  for (const auto* list : {&graph.inputs(), &graph.constants()})
    for (const Graph::Value* v : *list)
      group_[find(static_cast<size_t>(v->id))] = find(static_cast<size_t>(v->storage));
  for (const Graph::Node* node : nodes)
    if (mayAlias(*node)) join(*node);
  for (size_t id = 0; id < group_.size(); ++id) group_[id] = find(id);
  for (const auto* list : {&graph.inputs(), &graph.constants()})
    for (const Graph::Value* v : *list) given_[of(v)] = true;
  for (const Graph::Node* node : nodes)
    trace_detail::forWritten(*node, [&](const Graph::Value* v) { written_[of(v)] = true; });
}

size_t Aliases::find(size_t id) {
  while (group_[id] != id) id = group_[id] = group_[group_[id]];
  return id;
}

size_t Aliases::gradOf(const Graph::Value* leaf) const {
  const bool is_given = leaf->kind != Graph::Value::Kind::kResult;
  return tensors_.size() + static_cast<size_t>(is_given ? leaf->storage : tensorOf(leaf)->id);
}

void Aliases::join(const Graph::Node& node) {
  std::optional<size_t> first;
  const auto join = [&](size_t id) {
    if (!first) first = id;
    group_[find(id)] = find(*first);
  };
  const auto add = [&](const Graph::Value* v) { join(static_cast<size_t>(v->id)); };
  // What the dictionary's schemas don't mark is new, or only read.
  const FunctionSchema& schema = node.op.schema();
  const bool all = drawsRandomNumbers(node.op) || !isOfDictionary(node);
  const bool of_grad = grads_apart_ && node.op.op().name().starts_with("trace::") && !node.is("trace::requires_grad_");
  if (of_grad) join(gradOf(node.arguments[0].value()));
  for (size_t i = of_grad ? 1 : 0; i < node.arguments.size(); ++i)
    if (all || schema.arguments()[i].hasAlias()) trace_detail::forValues(node.arguments[i], add);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (all || schema.returns()[i].hasAlias()) trace_detail::forValues(node.outputs[i], add);
}

namespace {

/// Whether the node writes memory of the group.
bool writesGroup(const Graph::Node& node, size_t group, const Aliases& aliases) {
  bool writes = false;
  trace_detail::forWritten(node, [&](const Graph::Value* v) { writes |= aliases.of(v) == group; });
  return writes;
}

}  // namespace

bool isWrittenBehind(const Graph& graph, const Graph::Value* made, const Aliases& aliases) {
  const std::vector<Graph::Node*> nodes = graph.nodes();
  return std::any_of(std::ranges::find(nodes, made->node) + 1, nodes.end(),
                     [&](const Graph::Node* later) { return writesGroup(*later, aliases.of(made), aliases); });
}

bool isWrittenAfter(const Graph& graph, const Graph::Value* made, const Aliases& aliases) {
  return writesGroup(*made->node, aliases.of(made), aliases) || isWrittenBehind(graph, made, aliases);
}

}  // namespace shunt::compiled
