// Acts on some calls only: large tensors are counted and named, small ones pass.
#pragma once

#include "examples/modes/arguments.h"

namespace examples {

class LargeCallsMode : public shunt::DispatchMode {
 public:
  LargeCallsMode(int64_t from_numel, std::ostream& out) : from_(from_numel), out_(out) {}
  std::string name() const override { return "LargeCallsMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    int64_t largest = 0;
    forEachTensor(*stack, [&](const shunt::Tensor& t) { largest = std::max(largest, t.numel()); });
    if (largest >= from_) out_ << op.operator_name() << " of " << largest << " elements\n";
    op.callBoxed(stack);
  }

 private:
  int64_t from_;
  std::ostream& out_;
};

}  // namespace examples
