// Many small models at once: each parameter stands for one of every model, stacked, and a model written for one runs
// all of them. Layers and activations are enough for it; other operators need vmap.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

#include <set>

namespace examples {

class StackedTensor : public shunt::TensorSubclass {
 public:
  /// `all`: (models, ...); to others it looks like one model's.
  explicit StackedTensor(const shunt::Tensor& all)
      : TensorSubclass(all.sizes().slice(1), shunt::TensorOptions(all.dtype()), all) {}

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    static const std::set<std::string> pointwise = {"aten::relu", "aten::tanh", "aten::sigmoid", "aten::gelu"};
    const std::string name = op.operator_name().name;
    if (pointwise.count(name) != 0) return shunt::call_unwrapped<StackedTensor>(op, stack);
    SHUNT_CHECK(name == "aten::linear", "StackedTensor: there is no rule for operator ", op.operator_name(),
                ", only for linear and activations");
    const shunt::Tensor input = (*stack)[0].toTensor(), weight = shunt::unwrap<StackedTensor>((*stack)[1].toTensor());
    // A plain input is the same for all models.
    const shunt::Tensor x = shunt::wrapper_cast<StackedTensor>(input) != nullptr
                                ? shunt::unwrap<StackedTensor>(input)
                                : input.unsqueeze(0).expand({weight.size(0), input.size(0), input.size(1)});
    shunt::Tensor y = x.bmm(weight.transpose(1, 2));
    if ((*stack)[2].isTensor() && (*stack)[2].toTensor().defined())
      y = y + shunt::unwrap<StackedTensor>((*stack)[2].toTensor()).unsqueeze(1);
    *stack = {shunt::wrap<StackedTensor>(y)};
  }
};

}  // namespace examples
