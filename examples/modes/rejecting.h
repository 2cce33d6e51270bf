// Stops a program at the first NaN: throws where an argument has one, or a result. The exception leaves the operator's
// call as it was thrown, so that the program catches its type.
#pragma once

#include "examples/modes/arguments.h"

#include <stdexcept>

namespace examples {

class RejectingMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "RejectingMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (anyNaN(*stack)) throw std::domain_error("an argument of " + op.operator_name().str() + " has NaN");
    op.callBoxed(stack);
    if (anyNaN(*stack)) throw std::domain_error("a result of " + op.operator_name().str() + " has NaN");
  }
};

}  // namespace examples
