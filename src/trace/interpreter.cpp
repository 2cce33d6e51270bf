#include "src/trace/interpreter.h"

#include "src/trace/inputs.h"
#include "src/trace/modes.h"
#include "src/trace/recorded_results.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <limits>

namespace shunt::trace_detail {

Interpreter::Interpreter(const Graph& graph, FunctionRef<Tensor(const Graph::Value&)> given)
    : nodes_(graph.nodes()), tensors_(static_cast<size_t>(graph.idBound())), last_users_(tensors_.size(), 0) {
  for (const Graph::Value* v : graph.inputs()) at(v) = given(*v);
  for (const Graph::Value* v : graph.constants()) at(v) = given(*v);
  for (size_t i = 0; i < nodes_.size(); ++i)
    forArguments(*nodes_[i], [&](const Graph::Value* v) { last_users_[static_cast<size_t>(v->id)] = i; });
  for (const Graph::Value* v : graph.outputs())
    if (v != nullptr) last_users_[static_cast<size_t>(v->id)] = std::numeric_limits<size_t>::max();
}

Stack stackOf(const Graph::Node& node, const std::vector<Tensor>& tensors) {
  Stack stack;
  const auto tensorOf = [&](const Graph::Value* v) {
    return v != nullptr ? tensors[static_cast<size_t>(v->id)] : Tensor();
  };
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Graph::Argument& a = node.arguments[i];
    if (a.kind == Graph::Argument::Kind::kLiteral) {
      stack.push_back(a.literal);
    } else if (a.kind == Graph::Argument::Kind::kValue) {
      stack.push_back(IValue(tensorOf(a.values[0])));
    } else if (node.op.schema().arguments()[i].type.element_optional) {
      std::vector<std::optional<Tensor>> list;
      for (const Graph::Value* v : a.values)
        list.push_back(v != nullptr ? std::optional<Tensor>(tensorOf(v)) : std::nullopt);
      stack.push_back(IValue(std::move(list)));
    } else {
      std::vector<Tensor> list;
      for (const Graph::Value* v : a.values) list.push_back(tensorOf(v));
      stack.push_back(IValue(std::move(list)));
    }
  }
  return stack;
}

// Before the node's operator runs, which then holds the only reference: backward's gradients are kept without a copy.
void Interpreter::release(const Graph::Node& node, size_t position) {
  forArguments(node, [&](const Graph::Value* v) {
    if (last_users_[static_cast<size_t>(v->id)] == position) at(v).reset();
  });
}

void Interpreter::keep(const Graph::Node& node, const Stack& returns) {
  const auto put = [&](const Graph::Value* v, const Tensor& t) {
    if (v != nullptr && last_users_[static_cast<size_t>(v->id)] != 0) at(v) = t;
  };
  if (node.outputs.empty()) return;  // also of a node that is just being made
  SHUNT_CHECK(returns.size() == node.outputs.size(), "Graph: operator ", node.name(), " returned ", returns.size(),
              " values, and its node has ", node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Graph::Output& out = node.outputs[i];
    if (!out.is_list) {
      if (returns[i].isTensor()) put(out.values.at(0), returns[i].toTensor());
      continue;
    }
    const std::vector<Tensor>& list = returns[i].toTensorVector();
    SHUNT_CHECK(list.size() == out.values.size(), "Graph: operator ", node.name(), " returned a list of ", list.size(),
                " tensors, and one of ", out.values.size(), " was recorded; trace the function for these inputs");
    for (size_t j = 0; j < list.size(); ++j) put(out.values[j], list[j]);
  }
}

void Interpreter::run(FunctionRef<void(const Graph::Node&, Stack&)> after) {
  ModesScope modes;
  const Graph::Modes* on = nullptr;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Graph::Node& node = *nodes_[i];
    if (on == nullptr || !(*on == node.modes)) modes.set(node.modes);
    on = &node.modes;
    Stack stack = stackOf(node, tensors_);
    release(node, i);
    node.op.callBoxed(stack);
    after(node, stack);
    keep(node, stack);
  }
}

Tensor Interpreter::output(const Graph::Value* value) const {
  return value != nullptr ? tensors_[static_cast<size_t>(value->id)] : Tensor();
}

namespace {

/// Results follow how inputs lie, and a graph may be run on inputs that lie otherwise.
bool lieAsRecorded(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].strides().equals(graph.inputs()[i]->spec.strides)) return false;
  return true;
}

}  // namespace

std::vector<Tensor> runGraph(const Graph& graph, const std::vector<Tensor>& inputs,
                             FunctionRef<void(const Graph::Node&, Stack&)> after) {
  checkRun(graph, inputs);
  const auto given = [&](const Graph::Value& v) {
    if (v.kind == Graph::Value::Kind::kConstant) return v.constant;
    return inputs[static_cast<size_t>(std::ranges::find(graph.inputs(), &v) - graph.inputs().begin())];
  };
  Interpreter interpreter(graph, given);
  const Compared compared{.strides = lieAsRecorded(graph, inputs)};
  interpreter.run([&](const Graph::Node& node, Stack& returns) {
    compareResults(graph, node, returns, compared, false, "Graph::run: ", ", or the function has to be traced again");
    after(node, returns);
  });
  std::vector<Tensor> results;
  for (const Graph::Value* v : graph.outputs()) results.push_back(interpreter.output(v));
  return results;
}

std::vector<Tensor> runGraphAlone(const Graph& graph, const std::vector<Tensor>& inputs,
                                  FunctionRef<void(const Graph::Node&, Stack&)> after) {
  try {
    return runGraph(graph, inputs, after);
  } catch (const OtherResults& e) {
    throw Error(e.what());
  }
}

}  // namespace shunt::trace_detail
