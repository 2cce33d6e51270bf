#include "src/compile/steps/reduction_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"

#include <shunt/elementwise/reduction.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace shunt::compiled {
namespace {

using elementwise::ReductionOperator;

struct Known {
  std::string_view name;
  ReductionOperator op;
  bool has_dims;  // and keepdim behind them; dtype is last
};
constexpr Known kKnown[] = {{"aten::sum.dim_IntList", ReductionOperator::kSum, true},
                            {"aten::mean.dim", ReductionOperator::kMean, true},
                            {"aten::sum", ReductionOperator::kSum, false},
                            {"aten::mean", ReductionOperator::kMean, false}};

const Known* knownOf(const Graph::Node& node) { return entryOf(node, kKnown); }

class PreparedReduction : public PreparedStep {
 public:
  PreparedReduction(std::unique_ptr<const elementwise::Reduction> reduction, const Place& in, const Graph::Spec& result)
      : PreparedStep(result), reduction_(std::move(reduction)), in_(in) {}

  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte* in = elementsAt(in_, frame);
    if (in == nullptr) return false;
    reduction_->run(in, out[0]);
    ++quick_counts.reductions;
    return true;
  }

 private:
  const std::unique_ptr<const elementwise::Reduction> reduction_;
  const Place in_;
};

}  // namespace

bool isReduction(const Graph::Node& node) { return knownOf(node) != nullptr; }

std::shared_ptr<const PreparedStep> reductionOf(const Graph::Node& node, const PreparedStep::Place& in,
                                                const Graph::Spec& made) {
  const Known* known = knownOf(node);
  if (known == nullptr || node.modes.inference || mayAutocast(node)) return nullptr;
  const Graph::Value *self = node.arguments[0].value(), *result = node.result();
  if (self == nullptr || result == nullptr || self->spec.device != kCPU || self->spec.dtype != result->spec.dtype ||
      !isRowMajor(result->spec) || !liesAsNew(made) || !node.arguments.back().literal.isNone() || !callsOwnKernel(node))
    return nullptr;
  OptionalIntArrayRef dims;
  if (known->has_dims) {
    const IValue& named = node.arguments[1].literal;
    if (!named.isIntList() && !named.isNone()) return nullptr;
    if (named.isIntList()) dims = IntArrayRef(named.toIntVector());
  }
  auto reduction = elementwise::reduction(known->op, self->spec.dtype, self->spec.sizes, self->spec.strides, dims);
  if (reduction == nullptr) return nullptr;
  return std::make_shared<const PreparedReduction>(std::move(reduction), in, made);
}

}  // namespace shunt::compiled
