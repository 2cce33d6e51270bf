// Weights in 8 bits: a quarter of float32's memory, one scale for each row, made floats again where they are used.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

namespace examples {

class Int8Weight : public shunt::TensorSubclass {
 public:
  /// `weight`: a floating-point matrix; what it looks like to others, too.
  explicit Int8Weight(const shunt::Tensor& weight)
      : TensorSubclass(weight.sizes(), shunt::TensorOptions(weight.dtype())) {
    scale_ = weight.abs().amax({1}, true).clamp(1e-12) / 127;
    values_ = (weight / scale_).round().to(shunt::kChar);
  }
  shunt::Tensor dequantize() const { return values_.to(dtype()) * scale_; }
  size_t bytes() const { return values_.nbytes() + scale_.nbytes(); }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    for (size_t i = 0; i < stack->size(); ++i) {
      const shunt::Argument& a = op.schema().arguments()[i];
      SHUNT_CHECK(!a.is_write() || shunt::wrapper_cast<Int8Weight>((*stack)[i].toTensor()) == nullptr,
                  "Int8Weight: operator ", op.operator_name(), " would write to argument ", a.name,
                  ", and weights in 8 bits are constant");
    }
    shunt::mapTensors(*stack, stack->size(), [](const shunt::Tensor& t) {
      const auto* weight = shunt::wrapper_cast<Int8Weight>(t);
      return weight != nullptr ? weight->dequantize() : t;
    });
    op.callBoxed(stack);
  }

 private:
  shunt::Tensor values_, scale_;
};

}  // namespace examples
