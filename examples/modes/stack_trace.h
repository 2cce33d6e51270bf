// Prints where in the program an operator is called from: functions by name, with source lines where the program has
// debug information.
#pragma once

#include "examples/modes/arguments.h"

#include <shunt/core/stack_trace.h>

#include <utility>

namespace examples {

class StackTraceMode : public shunt::DispatchMode {
 public:
  StackTraceMode(std::string op, std::ostream& out) : op_(std::move(op)), out_(out) {}
  std::string name() const override { return "StackTraceMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().str() == op_) out_ << op_ << " called from\n" << shunt::stackTrace();
    op.callBoxed(stack);
  }

 private:
  std::string op_;
  std::ostream& out_;
};

}  // namespace examples
