// Keeps mean and standard deviation of what an operator returns, by operator: how activations grow or vanish.
#pragma once

#include "examples/modes/arguments.h"

#include <map>

namespace examples {

class StatisticsMode : public shunt::DispatchMode {
 public:
  struct Moments {
    int64_t calls = 0;
    double mean = 0, std = 0;  // of the last call
  };
  std::string name() const override { return "StatisticsMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    op.callBoxed(stack);
    const shunt::NoGradGuard no_grad;
    forEachTensor(*stack, [&](const shunt::Tensor& t) {
      if (!t.is_floating_point() || t.numel() < 2) return;
      const shunt::Tensor values = t.detach().to(shunt::kDouble), mean = values.mean();
      Moments& m = moments[op.operator_name().str()];
      ++m.calls;
      m.mean = mean.item<double>();
      m.std = (values - mean).pow(2).mean().sqrt().item<double>();
    });
  }

  std::map<std::string, Moments> moments;
};

}  // namespace examples
