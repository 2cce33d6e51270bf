#include "src/compile/steps/loss_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"

#include <shunt/elementwise/mse_loss.h>
#include <shunt/elementwise/nll_loss.h>

namespace shunt::compiled {
namespace {

using elementwise::NllLoss;

/// Where the operators have their arguments.
struct Known {
  const char* name;
  size_t input, target, weight, reduction;  // ignore_index comes behind the last one
  bool is_backward;                         // with the gradient first, and the total weight last
};
constexpr size_t kGradient = 0, kTotalWeight = 6;
constexpr Known kKnown[] = {{"aten::nll_loss_forward", 0, 1, 2, 3, false},
                            {"aten::nll_loss_backward", 1, 2, 3, 4, true}};

const Known* knownOf(const Graph::Node& node) { return entryOf(node, kKnown); }

class PreparedLoss : public PreparedStep {
 public:
  PreparedLoss(const NllLoss& loss, const Place& input, const Place& target, const Graph::Node& node)
      : PreparedStep(node), loss_(loss), input_(input), target_(target) {}

  // A target that is no class is the operator's to report.
  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte *input = elementsAt(input_, frame), *target = elementsAt(target_, frame);
    if (input == nullptr || target == nullptr || !loss_.forward(input, target, out[0], out[1])) return false;
    ++quick_counts.losses;
    return true;
  }

 private:
  const NllLoss loss_;
  const Place input_, target_;
};

class PreparedLossGradient : public PreparedStep {
 public:
  PreparedLossGradient(const NllLoss& loss, const Place& grad, const Place& input, const Place& target,
                       const Place& total_weight, const Graph::Spec& result)
      : PreparedStep(result), loss_(loss), grad_(grad), input_(input), target_(target), total_weight_(total_weight) {}

  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte *grad = elementsAt(grad_, frame), *target = elementsAt(target_, frame);
    const std::byte* total_weight = elementsAt(total_weight_, frame);
    if (grad == nullptr || target == nullptr || total_weight == nullptr || elementsAt(input_, frame) == nullptr)
      return false;
    if (!loss_.backward(grad, target, total_weight, out[0])) return false;
    ++quick_counts.losses;
    return true;
  }

 private:
  const NllLoss loss_;
  const Place grad_, input_, target_, total_weight_;
};

class PreparedSquares : public PreparedStep {
 public:
  PreparedSquares(std::unique_ptr<const elementwise::MseLoss> loss, const Place& self, const Place& target,
                  const Graph::Spec& result)
      : PreparedStep(result), loss_(std::move(loss)), self_(self), target_(target) {}

  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte *self = elementsAt(self_, frame), *target = elementsAt(target_, frame);
    if (self == nullptr || target == nullptr) return false;
    loss_->run(self, target, out[0]);
    ++quick_counts.losses;
    return true;
  }

 private:
  const std::unique_ptr<const elementwise::MseLoss> loss_;
  const Place self_, target_;
};

bool isOnCpu(const Graph::Value* v, ScalarType dtype, size_t dim) {
  return v != nullptr && v->spec.device == kCPU && v->spec.dtype == dtype && v->spec.sizes.size() == dim;
}

bool isNumber(const Graph::Value* v, ScalarType dtype) {
  return v != nullptr && v->spec.sizes.size() <= 1 && isOnCpu(v, dtype, v->spec.sizes.size()) && numelOf(v->spec) == 1;
}

/// Nothing where the loops don't take the operands.
std::optional<NllLoss> describe(const Graph::Node& node, const Known& known) {
  const Graph::Value *input = node.arguments[known.input].value(), *target = node.arguments[known.target].value();
  if (input == nullptr || !NllLoss::takes(input->spec.dtype) || !isOnCpu(input, input->spec.dtype, 2) ||
      !isOnCpu(target, kLong, 1) || node.arguments[known.weight].value() != nullptr)
    return std::nullopt;
  const std::vector<int64_t>&sizes = input->spec.sizes, &strides = input->spec.strides;
  const int64_t reduction = node.arguments[known.reduction].literal.toInt();
  if (numelOf(input->spec) == 0 || target->spec.sizes[0] != sizes[0] || (reduction != 1 && reduction != 2))
    return std::nullopt;
  return NllLoss{.dtype = input->spec.dtype,
                 .mean = reduction == 1,
                 .samples = sizes[0],
                 .classes = sizes[1],
                 .sample_stride = strides[0],
                 .class_stride = strides[1],
                 .target_stride = target->spec.strides[0],
                 .ignore_index = node.arguments[known.reduction + 1].literal.toInt()};
}

bool isMseLoss(const Graph::Node& node) { return node.is("aten::mse_loss"); }

/// Of operands of one shape, which lie row-major.
std::shared_ptr<const PreparedStep> mseLossOf(const Graph::Node& node,
                                              const std::function<PreparedStep::Place(size_t)>& place) {
  const Graph::Value *self = node.arguments[0].value(), *target = node.arguments[1].value(), *result = node.result();
  const int64_t reduction = node.arguments[2].literal.toInt();
  if (self == nullptr || target == nullptr || result == nullptr || (reduction != 1 && reduction != 2) ||
      node.modes.inference || mayAutocast(node) || !callsOwnKernel(node))
    return nullptr;
  const ScalarType dtype = result->spec.dtype;
  const size_t dim = self->spec.sizes.size();
  if (!isOnCpu(self, dtype, dim) || !isOnCpu(target, dtype, dim) || self->spec.sizes != target->spec.sizes ||
      !isRowMajor(self->spec) || !isRowMajor(target->spec) || !liesAsNew(result->spec))
    return nullptr;
  using elementwise::ReductionOperator;
  auto loss = elementwise::mseLoss(dtype, numelOf(self->spec),
                                   reduction == 1 ? ReductionOperator::kMean : ReductionOperator::kSum);
  if (loss == nullptr) return nullptr;
  return std::make_shared<const PreparedSquares>(std::move(loss), place(0), place(1), result->spec);
}

}  // namespace

bool isLoss(const Graph::Node& node) { return knownOf(node) != nullptr || isMseLoss(node); }

std::shared_ptr<const PreparedStep> lossOf(const Graph::Node& node,
                                           const std::function<PreparedStep::Place(size_t)>& place) {
  if (isMseLoss(node)) return mseLossOf(node, place);
  const Known& known = *knownOf(node);
  const Graph::Value* result = node.result();
  if (result == nullptr || node.modes.inference || mayAutocast(node) || !callsOwnKernel(node)) return nullptr;
  const std::optional<NllLoss> loss = describe(node, known);
  if (!loss || !liesAsNew(result->spec)) return nullptr;
  if (!known.is_backward)
    return std::make_shared<const PreparedLoss>(*loss, place(known.input), place(known.target), node);
  if (!isNumber(node.arguments[kGradient].value(), loss->dtype) ||
      !isNumber(node.arguments[kTotalWeight].value(), loss->dtype))
    return nullptr;
  return std::make_shared<const PreparedLossGradient>(*loss, place(kGradient), place(known.input), place(known.target),
                                                      place(kTotalWeight), result->spec);
}

}  // namespace shunt::compiled
