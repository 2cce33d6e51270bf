#include "src/compile/checks/compared.h"

#include "src/compile/checks/first_difference.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

/// With its elements on the CPU, where a device has them.
Tensor readable(const Tensor& t) {
  if (!t.defined()) return t;
  const Tensor plain = autograd::detached_alias(t);
  if (t.device().is_cpu()) return plain;
  const AutoDispatchBelowAutograd below;
  return plain.to(kCPU);
}

}  // namespace

uint32_t versionOf(const Tensor& t) { return t.is_inference() ? 0 : t.unsafeGetTensorImpl()->version().current(); }

std::string differenceOfGrad(bool graph, bool function) {
  if (graph == function) return "";
  return graph ? "it requires grad, expected not to" : "it requires no grad, expected to";
}

std::string differenceOf(const Tensor& graph, const Tensor& function) {
  std::string found = firstDifference(readable(graph), readable(function));
  if (!found.empty() || !function.defined()) return found;
  if (!graph.strides().equals(function.strides()))
    return detail::str("its strides are ", graph.strides(), ", expected ", function.strides());
  return differenceOfGrad(graph.requires_grad(), function.requires_grad());
}

std::vector<Generator> generatorsOf(const Graph& graph) {
  std::vector<Generator> out = {default_generator()};
  const auto add = [&](const Generator& g) {
    if (std::ranges::none_of(out, [&](const Generator& had) { return had.impl() == g.impl(); })) out.push_back(g);
  };
  for (const Graph::Node* node : graph.nodes())
    for (const Graph::Argument& a : node->arguments)
      if (a.literal.isGenerator()) add(a.literal.toGenerator());
  return out;
}

}  // namespace shunt::compiled
