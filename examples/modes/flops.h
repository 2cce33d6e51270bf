// Counts floating-point operations: two for each product of a matrix product, one for each element otherwise.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>

namespace examples {

class FlopMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "FlopMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const std::string name(op.operator_name().name);
    int64_t inner = 0;  // length of the sums
    if (name == "aten::mm" || name == "aten::bmm" || name == "aten::matmul" || name == "aten::linear")
      inner = (*stack)[0].toTensor().size(-1);
    if (name == "aten::addmm") inner = (*stack)[1].toTensor().size(-1);
    const bool bias = name == "aten::addmm" || (name == "aten::linear" && (*stack)[2].isTensor() && (*stack)[2].toTensor().defined());
    int64_t largest = 0;
    forEachTensor(*stack, [&](const shunt::Tensor& t) { largest = std::max(largest, t.numel()); });
    const bool is_view = std::any_of(op.schema().returns().begin(), op.schema().returns().end(),
                                     [](const shunt::Argument& r) { return r.alias && !r.is_write(); });
    op.callBoxed(stack);
    if (inner > 0) {
      forEachTensor(*stack, [&](const shunt::Tensor& t) { flops += t.numel() * (2 * inner + (bias ? 1 : 0)); });
    } else if (!is_view) {
      flops += largest;
    }
  }

  int64_t flops = 0;
};

}  // namespace examples
