#include "src/compile/backward/eligible.h"

#include "src/compile/backward/joint.h"
#include "src/compile/passes/aliases.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

[[noreturn]] void refuse(const char* why) { throw Error(why); }

void checkNodes(const Graph& graph) {
  for (Graph::Node* node : graph.nodes()) {
    if (!isOfDictionary(*node)) refuse("the function calls operators of another library, or uses grads");
    if (node->modes.inference) refuse("the function enters inference mode");
    if (drawsRandomNumbers(node->op) && generatorOf(*node) == nullptr)
      refuse("the function draws from a generator of its own");
  }
}

}  // namespace

std::vector<size_t> resultsWithHistory(const Graph& graph, const std::vector<Tensor>& outputs) {
  checkNodes(graph);
  const Aliases aliases(graph);
  for (const Graph::Value* v : givenOf(graph))
    if (aliases.isWritten(v)) refuse("the function writes into a tensor that it was given");
  std::vector<size_t> found, memories;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Graph::Value* v = graph.outputs()[i];
    if (v == nullptr || !outputs[i].requires_grad()) continue;
    if (aliases.holdsGiven(aliases.of(v)))
      refuse("a result that requires grad shares memory with what the function was given");
    // A write to one of them would change the history of the other.
    if (std::ranges::find(memories, aliases.of(v)) != memories.end())
      refuse("two results that require grad share memory");
    found.push_back(i);
    memories.push_back(aliases.of(v));
  }
  if (found.empty()) refuse("no result requires grad");
  return found;
}

Graph::Argument* generatorOf(Graph::Node& node) {
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].type.kind == TypeKind::Generator && node.arguments[i].literal.isNone()) return &node.arguments[i];
  return nullptr;
}

}  // namespace shunt::compiled
