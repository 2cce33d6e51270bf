#include "src/compile/first_operator.h"

#include <algorithm>
#include <bit>
#include <sstream>

namespace shunt::compiled {
namespace {

using trace_detail::Witness;

bool isSame(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool isSame(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return false;
  if (a.isDouble()) return isSame(a.toDouble(), b.toDouble());
  if (a.isDoubleList())
    return std::ranges::equal(a.toDoubleVector(), b.toDoubleVector(), [](double x, double y) { return isSame(x, y); });
  if (a.isTensor()) return true;  // undefined ones
  if (a.isGenerator()) return a.toGenerator().impl() == b.toGenerator().impl();
  return a == b;
}

std::string textOf(const IValue& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

class Given {
 public:
  Given(const Graph& graph, std::span<const Tensor* const> inputs) : graph_(graph), inputs_(inputs) {}
  /// Null of what a node gives.
  const TensorImpl* of(const Graph::Value& v) const {
    if (v.kind == Graph::Value::Kind::kConstant) return v.constant.unsafeGetTensorImpl();
    if (v.kind == Graph::Value::Kind::kResult) return nullptr;
    const auto at = static_cast<size_t>(std::ranges::find(graph_.inputs(), &v) - graph_.inputs().begin());
    return inputs_[at]->unsafeGetTensorImpl();
  }

 private:
  const Graph& graph_;
  const std::span<const Tensor* const> inputs_;
};

std::string differenceOfTensors(const Graph::Argument& was, const Witness::Argument& is, const Given& given) {
  std::vector<const Graph::Value*> values;
  std::ranges::copy_if(was.values, std::back_inserter(values), [](const Graph::Value* v) { return v != nullptr; });
  if (values.size() != is.tensors.size())
    return detail::str("had ", values.size(), " tensors when the graph was recorded and has ", is.tensors.size(),
                       " now");
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorImpl* wanted = given.of(*values[i]);
    if (wanted == nullptr || wanted == is.tensors[i]) continue;
    return detail::str("was ", values[i]->kind == Graph::Value::Kind::kConstant ? "a captured tensor" : "an argument",
                       " of shape ", IntArrayRef(values[i]->spec.sizes),
                       " when the graph was recorded and is another tensor now");
  }
  return "";
}

std::string differenceOf(const Graph::Argument& was, const Witness::Argument& is, const Given& given) {
  const bool were_tensors = was.kind != Graph::Argument::Kind::kLiteral;
  if (were_tensors || is.is_tensors) {
    const bool had_any = std::ranges::any_of(was.values, [](const Graph::Value* v) { return v != nullptr; });
    if (had_any == is.is_tensors) return differenceOfTensors(was, is, given);
    return had_any ? "was a tensor when the graph was recorded and is none now"
                   : "was no tensor when the graph was recorded and is one now";
  }
  if (isSame(was.literal, is.literal)) return "";
  return detail::str("was ", textOf(was.literal), " when the graph was recorded and is ", textOf(is.literal), " now");
}

std::string differenceOf(const Graph::Node& node, const Witness::Call& call, const Given& given) {
  // Numbers of which tensor() makes a tensor are another one each time.
  if (node.is("aten::clone")) return "";
  for (size_t i = 0; i < node.arguments.size(); ++i)
    if (const std::string found = differenceOf(node.arguments[i], call.arguments[i], given); !found.empty())
      return detail::str(node.name(), ", whose argument '", node.op.schema().arguments()[i].name, "' ", found);
  return "";
}

/// What a recording may add: aliases and clones of what autograd saves, casts that autocast keeps.
bool mayBeAdded(const Graph::Node& node) {
  return node.is("aten::as_strided") || node.is("aten::clone") || node.is("aten::_to_copy");
}

}  // namespace

std::string firstOtherOperator(const Graph& graph, std::span<const Tensor* const> inputs,
                               const std::vector<Witness::Call>& calls) {
  const Given given(graph, inputs);
  size_t next = 0;
  for (const Graph::Node* node : graph.nodes()) {
    if (node->name().starts_with("trace::")) continue;  // what eager code does without an operator
    const bool is_it = next < calls.size() && calls[next].op == node->op;
    if (!is_it && mayBeAdded(*node)) continue;
    if (next == calls.size()) return node->name() + ", which the function doesn't call now";
    if (!is_it)
      return detail::str(calls[next].op.operator_name(), ", which the function calls now where the graph has ",
                         node->name());
    if (std::string found = differenceOf(*node, calls[next++], given); !found.empty()) return found;
  }
  if (next == calls.size()) return "";
  return detail::str(calls[next].op.operator_name(), ", which the function calls now behind what the graph has");
}

}  // namespace shunt::compiled
