#include "src/compile/backward/trailing_views.h"

#include "src/compile/passes/aliases.h"
#include "src/compile/passes/same_views.h"
#include "src/compile/steps/step.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

/// Whether the view is the same, and noted in the same way, if it is made after everything else.
bool mayComeLast(const Graph& graph, const Graph::Node& node, const Aliases& aliases) {
  return makesView(node) && node.result() != nullptr && mayBeCalledLater(node) &&
         !isWrittenAfter(graph, node.result(), aliases);
}

}  // namespace

bool mayBeCalledLater(const Graph::Node& node) {
  const Graph::Modes& modes = node.modes;
  if (!modes.grad || modes.inference || modes.excluded != 0) return false;
  const auto isNumber = [](const Graph::Argument& a) { return a.kind == Graph::Argument::Kind::kLiteral; };
  return node.arguments[0].value() != nullptr &&
         std::all_of(node.arguments.begin() + 1, node.arguments.end(), isNumber);
}

Stack numbersOf(const Graph::Node& node) {
  Stack out;
  for (size_t i = 1; i < node.arguments.size(); ++i) {
    out.push_back(node.arguments[i].literal);
    fitLiteral(node.op, i, out.back());
  }
  return out;
}

TrailingViews TrailingViews::takenFrom(Graph& graph, size_t output, bool unread_only) {
  TrailingViews out;
  std::vector<Graph::Value*> outputs = graph.outputs();
  Graph::Value*& v = outputs[output];
  std::vector<Graph::Node*> views;  // the last one first
  {
    const Aliases aliases(graph);
    const auto isRead = [&] {
      const std::vector<Graph::Node*> users = graph.users(v);
      return std::ranges::any_of(users, [&](auto* user) { return views.empty() || user != views.back(); }) ||
             (!views.empty() && graph.isOutput(v));
    };
    for (; v->node != nullptr && mayComeLast(graph, *v->node, aliases) && !(unread_only && isRead());
         v = v->node->arguments[0].value())
      views.push_back(v->node);
  }
  graph.setOutputs(std::move(outputs));
  for (Graph::Node* node : views) {
    out.calls_.insert(out.calls_.begin(), Call{node->op, numbersOf(*node)});
    if (graph.users(node->result()).empty() && !graph.isOutput(node->result())) graph.erase(node);
  }
  return out;
}

Tensor TrailingViews::of(Tensor base) const {
  for (const Call& call : calls_) {
    Stack stack = {IValue(std::move(base))};
    stack.insert(stack.end(), call.others.begin(), call.others.end());
    call.op.callBoxed(&stack);
    base = std::move(stack.back().toTensor());
  }
  return base;
}

std::vector<std::string> TrailingViews::names() const {
  std::vector<std::string> out;
  for (const Call& call : calls_) out.push_back(call.op.operator_name().str());
  return out;
}

}  // namespace shunt::compiled
