// Finds the operator that a NaN comes from: arguments and results of every call are looked at. The looking is done with
// operators, too: they run below this mode, so it does not meet itself.
#pragma once

#include "examples/modes/arguments.h"

namespace examples {

class ValidationMode : public shunt::DispatchMode {
 public:
  explicit ValidationMode(std::ostream& out) : out_(out) {}
  std::string name() const override { return "ValidationMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const bool before = anyNaN(*stack);
    op.callBoxed(stack);
    if (before) {
      out_ << "NaN into " << op.operator_name() << '\n';
    } else if (anyNaN(*stack)) {
      out_ << "NaN out of " << op.operator_name() << '\n';
      ++made_;
    }
  }
  /// How many calls made a NaN of arguments that had none.
  int made() const { return made_; }

 private:
  std::ostream& out_;
  int made_ = 0;
};

}  // namespace examples
