// A tensor that prints every operator that is called with it: the shapes going in, the shapes coming out.
#pragma once

#include "examples/modes/arguments.h"

#include <shunt/interpose/tensor_subclass.h>

#include <iostream>

namespace examples {

class LoggingTensor : public shunt::TensorSubclass {
 public:
  using TensorSubclass::TensorSubclass;

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    std::cout << op.operator_name() << '(' << shapesOf(*stack) << ')';
    shunt::call_unwrapped<LoggingTensor>(op, stack);
    std::cout << " -> " << shapesOf(*stack) << '\n';
  }
};

}  // namespace examples
