// Emits the nodes of the graph: what each saves, and its formulas as apply().
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/saved_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kHeaderHead =
    R"(// The nodes of the derivatives' entries: what each saves, and apply() in nodes_N.cpp.
#pragma once

#include "kernels/wrappers/node_support.h"

namespace shunt::autograd::generated {
)";

constexpr const char* kSourceHead = R"(#include "generated/nodes.h"

namespace shunt::autograd::generated {

)";

const Argument& argumentOf(const Derivative& d, const std::string& name) { return *d.op->schema.findArgument(name); }

std::string nodeClass(const Derivative& d) {
  std::string members, releases;
  for (const SavedValue& s : d.saved) {
    members += savedMember(s);
    releases += savedRelease(s);
  }
  for (const std::string& input : d.inputs)
    if (isTensorList(argumentOf(d, input))) members += fmt::format("  size_t {}_size_ = 0;\n", input);
  const std::string release = releases.empty() ? "" : "  void release_variables() override {\n" + releases + "  }\n";
  return fmt::format(
      "\nstruct {} final : public Node {{\n  variable_list apply(variable_list&& grads) override;\n{}{}}};\n",
      d.node_name, release, members);
}

bool usesGrads(const GradientFormula& f) { return f.expression.find("grads") != std::string::npos; }

std::string ranges(const Derivative& d) {
  std::string text = "  IndexRangeGenerator gen;\n";
  for (const std::string& input : d.inputs) {
    const std::string count = isTensorList(argumentOf(d, input)) ? input + "_size_" : "1";
    text += fmt::format("  const auto {}_ix = gen.range({});\n", input, count);
  }
  return text;
}

std::string wanted(const std::string& input) {
  return fmt::format("task_should_compute_output({0}_ix.first, {0}_ix.second)", input);
}

std::string oneFormula(const GradientFormula& f) {
  const std::string& input = f.inputs[0];
  return fmt::format("  if ({}) copy_range(grad_inputs, {}_ix, {});\n", wanted(input), input, f.expression);
}

/// Several gradients from one call: a tuple, computed by mask.
std::string jointFormula(const GradientFormula& f) {
  std::vector<std::string> masks;
  std::string copies;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    masks.push_back(wanted(f.inputs[i]));
    copies += fmt::format("      if (grad_input_mask[{0}]) copy_range(grad_inputs, {1}_ix, std::get<{0}>(results));\n",
                          i, f.inputs[i]);
  }
  return fmt::format(
      "  {{\n    const std::array<bool, {}> grad_input_mask = {{{}}};\n"
      "    if (std::any_of(grad_input_mask.begin(), grad_input_mask.end(), [](bool b) {{ return b; }})) {{\n"
      "      const auto results = {};\n{}    }}\n  }}\n",
      f.inputs.size(), join(masks, ", "), f.expression, copies);
}

std::string applyFunction(const Derivative& d) {
  const auto of_list = [](const GradientFormula& f) { return usesGrads(f); };
  std::string body = ranges(d) + "  if (!any_grad_defined(grads)) return undefined_grads(gen.size());\n";
  if (std::none_of(d.formulas.begin(), d.formulas.end(), of_list)) {
    body += "  [[maybe_unused]] const Tensor grad = std::move(grads[0]);\n";
    body += "  variable_list grad_inputs = undefined_grads(gen.size(), std::move(grads));\n";
  } else {
    if (!std::all_of(d.formulas.begin(), d.formulas.end(), of_list))
      body += "  [[maybe_unused]] const Tensor& grad = grads[0];\n";
    body += "  variable_list grad_inputs(gen.size());\n";
  }
  for (const SavedValue& s : d.saved) body += savedLocal(s);
  for (const GradientFormula& f : d.formulas) body += f.inputs.size() == 1 ? oneFormula(f) : jointFormula(f);
  return fmt::format(
      "variable_list {}::apply([[maybe_unused]] variable_list&& grads) {{\n{}  return grad_inputs;\n}}\n\n",
      d.node_name, body);
}

}  // namespace

void emitNodes(const Derivatives& derivatives, const Output& out) {
  std::string header = std::string(kBanner) + kHeaderHead;
  Shards shards("generated/nodes", kNodeShards, kSourceHead, "}  // namespace shunt::autograd::generated\n");
  for (const auto& d : derivatives) {
    if (d->nothingDifferentiable()) continue;
    header += nodeClass(*d);
    shards.add(d->node_name, applyFunction(*d));
  }
  out.write("generated/nodes.h", header + "\n}  // namespace shunt::autograd::generated\n");
  shards.write(out);
}

}  // namespace opgen
