#include "src/compile/ended_history.h"

#include <shunt/autograd/autograd.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <algorithm>

namespace shunt {
namespace {

struct CompiledFunctionBackward final : Node {
  explicit CompiledFunctionBackward(std::string error) : error(std::move(error)) {}
  autograd::variable_list apply(autograd::variable_list&&) override { throw Error(error); }
  const std::string error;
};

}  // namespace

namespace compiled {

std::string errorOfBackward(const Tensor& fake_result) {
  try {
    autograd::backward({fake_result}, {ops::ones_like::call(fake_result, {}, {}, {}, {}, {})}, true);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

void recordNothing(Graph& graph) {
  for (Graph::Node* node : graph.nodes()) {
    if (!node->modes.grad || node->name().starts_with("trace::")) continue;
    for (const Graph::Argument& a : node->arguments)
      for (const Graph::Value* v : a.values) node->modes.grad &= v == nullptr || !v->spec.requires_grad;
  }
}

void endHistory(const Tensor& result, const std::string& error) {
  autograd::set_history(result, make_intrusive<CompiledFunctionBackward>(error));
}

}  // namespace compiled
}  // namespace shunt
