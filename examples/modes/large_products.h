// Computes large matrix products by its own loops, and leaves small ones to the native kernel: a replacement that
// depends on a call's arguments.
#pragma once

#include "examples/modes/replacement.h"

namespace examples {

class LargeProductsMode : public shunt::DispatchMode {
 public:
  explicit LargeProductsMode(int64_t more_than) : more_than_(more_than) {}
  std::string name() const override { return "LargeProductsMode"; }
  Level level() const override { return Level::kKernel; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().str() != "aten::mm") return op.callBoxed(stack);
    const shunt::Tensor a = (*stack)[0].toTensor(), b = (*stack)[1].toTensor();
    if (!a.is_cpu() || a.dtype() != shunt::kFloat || a.numel() <= more_than_) {
      ++native;
      return op.callBoxed(stack);
    }
    ++replaced;
    *stack = {multiply<float>(a, b)};
  }

  int native = 0, replaced = 0;

 private:
  int64_t more_than_;
};

}  // namespace examples
