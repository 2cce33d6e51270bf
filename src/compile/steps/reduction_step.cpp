#include "src/compile/steps/reduction_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"

#include <shunt/elementwise/reduction.h>

#include <optional>

namespace shunt::compiled {
namespace {

using elementwise::ReductionOperator;

std::optional<ReductionOperator> operatorOf(const Graph::Node& node) {
  if (node.is("aten::sum.dim_IntList")) return ReductionOperator::kSum;
  return node.is("aten::mean.dim") ? std::optional(ReductionOperator::kMean) : std::nullopt;
}

class PreparedReduction : public PreparedStep {
 public:
  PreparedReduction(std::unique_ptr<const elementwise::Reduction> reduction, const Place& in, const Graph::Spec& result)
      : PreparedStep(result), reduction_(std::move(reduction)), in_(in) {}

  bool run(const Frame& frame, std::byte* out, std::byte*) const override {
    const std::byte* in = elementsAt(in_, frame);
    if (in == nullptr) return false;
    reduction_->run(in, out);
    ++quick_counts.reductions;
    return true;
  }

 private:
  const std::unique_ptr<const elementwise::Reduction> reduction_;
  const Place in_;
};

}  // namespace

bool isReduction(const Graph::Node& node) { return operatorOf(node).has_value(); }

std::shared_ptr<const PreparedStep> reductionOf(const Graph::Node& node, const PreparedStep::Place& in,
                                                const Graph::Spec& made) {
  const std::optional<ReductionOperator> op = operatorOf(node);
  if (!op || node.modes.inference || mayAutocast(node)) return nullptr;
  const Graph::Value *self = node.arguments[0].value(), *result = node.result();
  const IValue &dims = node.arguments[1].literal, &dtype = node.arguments[3].literal;
  if (self == nullptr || result == nullptr || self->spec.device != kCPU || self->spec.dtype != result->spec.dtype ||
      !isRowMajor(result->spec) || !liesAsNew(made) || !dims.isIntList() || !dtype.isNone() || !callsOwnKernel(node))
    return nullptr;
  auto reduction = elementwise::reduction(*op, self->spec.dtype, self->spec.sizes, self->spec.strides,
                                          IntArrayRef(dims.toIntVector()));
  if (reduction == nullptr) return nullptr;
  return std::make_shared<const PreparedReduction>(std::move(reduction), in, made);
}

}  // namespace shunt::compiled
