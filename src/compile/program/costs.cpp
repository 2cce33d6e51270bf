#include "src/compile/program/costs.h"

#include "src/compile/passes/same_views.h"

#include <algorithm>
#include <string_view>

namespace shunt::compiled {
namespace {

int64_t elementsOf(const Graph::Spec& spec) {
  int64_t n = 1;
  for (const int64_t size : spec.sizes) n *= size;
  return n;
}

/// Those that are there: what is expanded has each once.
int64_t bytesOf(const Graph::Spec& spec) {
  int64_t n = elementSize(spec.dtype);
  for (size_t d = 0; d < spec.sizes.size(); ++d)
    if (spec.sizes[d] == 0 || spec.strides[d] != 0) n *= spec.sizes[d];
  return n;
}

const Graph::Spec* specOf(const Graph::Node& node, size_t argument) {
  const auto& values = node.arguments.at(argument).values;
  return !values.empty() && values[0] != nullptr ? &values[0]->spec : nullptr;
}

/// A product each of whose result's elements is a sum of as many terms as its argument `rows` has elements in a row.
struct Product {
  std::string_view name;
  size_t rows;
};
constexpr Product kProducts[] = {{"aten::mm", 0},    {"aten::bmm", 0},     {"aten::mv", 0},     {"aten::dot", 0},
                                 {"aten::addmm", 1}, {"aten::baddbmm", 1}, {"aten::linear", 0}, {"aten::matmul", 0}};

/// Of a convolution that has these results and weights: each result's element is a sum over a kernel of each input
/// channel.
int64_t convolved(const Graph::Spec& result, const Graph::Spec& weight, bool transposed, const Graph::Spec& input) {
  if (weight.sizes.empty() || weight.sizes[0] == 0) return 0;
  return 2 * elementsOf(transposed ? input : result) * (elementsOf(weight) / weight.sizes[0]);
}

bool isTransposed(const Graph::Node& node) {
  if (node.name().starts_with("aten::conv_transpose")) return true;
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].name == "transposed") return node.arguments[i].literal.isBool() && node.arguments[i].literal.toBool();
  return false;
}

int64_t flopsOfConvolution(const Graph::Node& node, bool backward) {
  const size_t first = backward ? 1 : 0;
  const Graph::Spec *input = specOf(node, first), *weight = specOf(node, first + 1);
  const Graph::Spec* result = backward ? specOf(node, 0) : &node.result()->spec;
  if (input == nullptr || weight == nullptr || result == nullptr) return 0;
  const int64_t one = convolved(*result, *weight, isTransposed(node), *input);
  if (!backward) return one;
  int64_t gradients = 0;  // of the input and of the weight
  for (size_t i = 0; i < 2 && i < node.outputs.size(); ++i)
    gradients += !node.outputs[i].values.empty() && node.outputs[i].values[0] != nullptr;
  return one * gradients;
}

int64_t flopsOf(const Graph::Node& node) {
  const std::string full = node.name();
  const std::string_view name = std::string_view(full).substr(0, full.find('.'));
  if (name.starts_with("aten::conv")) return flopsOfConvolution(node, name.ends_with("_backward"));
  const auto* product = std::ranges::find(kProducts, name, &Product::name);
  if (product == std::end(kProducts) || node.outputs.empty() || node.outputs[0].values.empty() ||
      node.result() == nullptr)
    return 0;
  const Graph::Spec* rows = specOf(node, product->rows);
  return rows != nullptr && !rows->sizes.empty() ? 2 * elementsOf(node.result()->spec) * rows->sizes.back() : 0;
}

}  // namespace

Costs costsOf(const Graph::Node& node) {
  Costs out;
  if (makesView(node)) return out;
  for (const Graph::Argument& a : node.arguments)
    for (const Graph::Value* v : a.values)
      if (v != nullptr) out.bytes += bytesOf(v->spec);
  for (const Graph::Output& o : node.outputs)
    for (const Graph::Value* v : o.values)
      if (v != nullptr) out.bytes += bytesOf(v->spec);
  out.flops = flopsOf(node);
  return out;
}

}  // namespace shunt::compiled
