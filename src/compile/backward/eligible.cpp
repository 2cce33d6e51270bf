#include "src/compile/backward/eligible.h"

#include "src/compile/backward/joint.h"
#include "src/compile/passes/aliases.h"

#include <shunt/autograd/autograd_meta.h>

namespace shunt::compiled {
namespace {

void checkNodes(const Graph& graph) {
  for (Graph::Node* node : graph.nodes()) {
    if (!isOfDictionary(*node)) refuse("the function calls operators of another library, or uses grads");
    if (node->modes.inference) refuse("the function enters inference mode");
  }
}

}  // namespace

std::vector<size_t> resultsWithHistory(const Graph& graph, const std::vector<Tensor>& outputs) {
  checkNodes(graph);
  std::vector<size_t> found;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (graph.outputs()[i] != nullptr && outputs[i].requires_grad()) found.push_back(i);
  if (found.empty()) refuse("no result requires grad");
  return found;
}

void checkIsNoView(const Graph& graph, size_t output, const Tensor& recorded) {
  const Aliases aliases(graph);
  const Graph::Value *v = graph.outputs()[output], *made = aliases.tensorOf(v);
  if (aliases.holdsGiven(aliases.of(v)))
    refuse("the result that requires grad shares memory with what the function was given");
  const bool is_view =
      recorded.defined() ? autograd::get_view_autograd_meta(recorded) != nullptr : mayAlias(*made->node);
  // A write into it later on would have to change the history of its base.
  if (is_view) refuse("the result that requires grad is a view");
}

}  // namespace shunt::compiled
