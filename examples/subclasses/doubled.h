// A class at mode level kKernel: autograd records on the tensor itself, and the class sees the operators that run.
#pragma once

#include <shunt/shunt.h>

#include <memory>
#include <string>
#include <utility>

namespace examples {

/// A tensor that holds half of its value.
struct Doubled : shunt::KernelClass {
  explicit Doubled(shunt::Tensor half) : half(std::move(half)) {}
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const auto whole = [](const shunt::Tensor& t) {
      const auto doubled = std::dynamic_pointer_cast<Doubled>(shunt::kernel_class_of(t));
      return doubled != nullptr ? doubled->half * 2 : t;
    };
    for (shunt::IValue& argument : *stack) argument = shunt::mapTensors(argument, whole);
    op.callBoxed(stack);
  }
  std::string name() const override { return "Doubled"; }

  shunt::Tensor half;
};

}  // namespace examples
