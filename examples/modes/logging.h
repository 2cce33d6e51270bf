// Prints every call: operator, shapes going in, shapes coming out.
#pragma once

#include "examples/modes/arguments.h"

namespace examples {

class LoggingMode : public shunt::DispatchMode {
 public:
  explicit LoggingMode(std::ostream& out) : out_(out) {}
  std::string name() const override { return "LoggingMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    out_ << op.operator_name() << '(' << shapesOf(*stack) << ')';
    op.callBoxed(stack);
    out_ << " -> " << shapesOf(*stack) << '\n';
  }

 private:
  std::ostream& out_;
};

}  // namespace examples
