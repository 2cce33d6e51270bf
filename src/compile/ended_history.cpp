#include "src/compile/ended_history.h"

#include <shunt/autograd/autograd.h>
#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/custom_function.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <unordered_set>
#include <vector>

namespace shunt {
namespace {

struct CompiledFunctionBackward final : Node {
  explicit CompiledFunctionBackward(std::string error) : error(std::move(error)) {}
  autograd::variable_list apply(autograd::variable_list&&) override { throw Error(error); }
  const std::string error;
};

}  // namespace

namespace compiled {

const char* whyNoGraphHasHistoryOf(const Tensor& fake_result) {
  if (fake_result.is_leaf()) return "the function returns a new leaf that requires grad";
  const auto* meta = autograd::get_autograd_meta(fake_result);
  if (meta != nullptr && meta->retains_grad_) return "the function returns a tensor that retains its grad";
  std::vector<const Node*> left = {fake_result.grad_fn().get()};
  std::unordered_set<const Node*> seen;
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (node->hooks() != nullptr) return "the function adds hooks to a result's graph";
    if (dynamic_cast<const autograd::CustomNode*>(node) != nullptr)
      return "a result's gradients go through a custom autograd function";
    for (const autograd::Edge& e : node->next_edges()) left.push_back(e.function.get());
  }
  return nullptr;
}

std::string errorOfBackward(const Tensor& fake_result) {
  try {
    autograd::backward({fake_result}, {ops::ones_like::call(fake_result, {}, {}, {}, {}, {})}, true);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

void endHistory(const Tensor& result, const std::string& error) {
  autograd::set_history(result, make_intrusive<CompiledFunctionBackward>(error));
}

}  // namespace compiled
}  // namespace shunt
