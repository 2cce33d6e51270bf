#include "jit/fuse/check_spec.h"

namespace shunt::jit {
namespace {

bool hasElements(ScalarType dtype) { return dtype != ScalarType::Undefined && elementSize(dtype) > 0; }

std::string problemOf(const FusedLoopSpec& spec, size_t place) {
  const FusedStep& step = spec.steps[place];
  const std::string name = "step " + std::to_string(place);
  if (step.body == nullptr) return name + " has no generic loop";
  if (!hasElements(step.common)) return name + " has no common dtype";
  if (step.result != step.common && step.result != ScalarType::Bool)
    return name + ": its result must have the common dtype or be bool";
  if (step.operands.empty() || step.operands.size() > elementwise::kMaxInputs)
    return name + ": expected 1 to " + std::to_string(elementwise::kMaxInputs) + " operands, got " +
           std::to_string(step.operands.size());
  if (!step.constants.empty() && step.constants.size() != elementwise::kMaxScalars)
    return name + ": expected " + std::to_string(elementwise::kMaxScalars) + " constants or none, got " +
           std::to_string(step.constants.size());
  for (const FusedOperand& operand : step.operands) {
    const bool is_step = operand.kind == FusedOperand::kStep;
    const size_t limit = is_step ? place : spec.inputs.size();
    if (operand.index >= limit)
      return name + ": it reads " + (is_step ? "step " : "input ") + std::to_string(operand.index) +
             ", expected one below " + std::to_string(limit);
  }
  return "";
}

}  // namespace

std::string problemOf(const FusedLoopSpec& spec) {
  if (spec.steps.empty() || spec.outputs.empty()) return "a region has at least one step and one output";
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::string name = "input " + std::to_string(i);
    if (!hasElements(spec.inputs[i].dtype)) return name + " has no dtype";
    if (spec.inputs[i].constant && spec.inputs[i].stride != FusedStride::kZero)
      return name + " is a constant, but not one element for a whole row";
  }
  for (size_t i = 0; i < spec.steps.size(); ++i)
    if (std::string problem = problemOf(spec, i); !problem.empty()) return problem;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const FusedOutput& output = spec.outputs[i];
    const std::string name = "output " + std::to_string(i);
    if (output.step >= spec.steps.size())
      return name + " is step " + std::to_string(output.step) + " of " + std::to_string(spec.steps.size());
    if (output.stride == FusedStride::kZero) return name + " has one element for a whole row";
  }
  return "";
}

}  // namespace shunt::jit
