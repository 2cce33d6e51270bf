#include "src/compile/passes/ended_history.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/autograd.h>
#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/custom_function.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/interrupt.h>
#include <shunt/ops.h>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace shunt {
namespace {

struct CompiledFunctionBackward final : Node {
  explicit CompiledFunctionBackward(std::string error) : error(std::move(error)) {}
  autograd::variable_list apply(autograd::variable_list&&) override { throw Error(error); }
  const std::string error;
};

constexpr std::string_view kFreed = "Trying to backward through the graph a second time";

std::unordered_set<const Node*> nodesOf(const Tensor& result) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> left = {result.grad_fn().get()};
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const autograd::Edge& e : node->next_edges()) left.push_back(e.function.get());
  }
  return seen;
}

template <class F>
std::string errorOf(F&& f) {
  try {
    f();
  } catch (const Interrupt&) {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace

namespace compiled {

const char* whyNoGraphHasHistoryOf(const Tensor& fake_result) {
  if (fake_result.is_leaf()) return "the function returns a new leaf that requires grad";
  const auto* meta = autograd::get_autograd_meta(fake_result);
  if (meta != nullptr && meta->retains_grad_) return "the function returns a tensor that retains its grad";
  for (const Node* node : nodesOf(fake_result)) {
    if (node->hooks() != nullptr) return "the function adds hooks to a result's graph";
  }
  return nullptr;
}

std::string customFunctionIn(const Tensor& fake_result) {
  for (const Node* node : nodesOf(fake_result)) {
    if (dynamic_cast<const autograd::CustomNode*>(node) == nullptr) continue;
    std::string name = node->name();
    if (name.starts_with("CppNode<")) name = name.substr(8, name.size() - 9);
    return name.substr(name.rfind(':') + 1);
  }
  return {};
}

std::string errorOfEndedHistory(const Tensor& fake_result) {
  const Tensor ones = ops::ones_like::call(fake_result, {}, {}, {}, {}, {});
  const std::string error = errorOf([&] { autograd::backward({fake_result}, {ones}, true); });
  if (error.empty()) return error;
  if (!error.starts_with(kFreed)) throw Error("compile: a backward() from a result throws: " + error);
  for (const Node* node : nodesOf(fake_result)) {
    const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(node);
    if (leaf == nullptr) continue;
    if (!errorOf([&] { autograd::grad({fake_result}, {leaf->variable}, {ones}, true); }).starts_with(kFreed))
      throw Error(
          "compile: the function returns a tensor of which a backward() in it has freed a part of the graph: "
          "return it detached");
  }
  return error;
}

void endHistory(const Tensor& result, const std::string& error) {
  autograd::set_history(result, make_intrusive<CompiledFunctionBackward>(error));
}

}  // namespace compiled
}  // namespace shunt
