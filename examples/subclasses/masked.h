// A tensor some of whose elements don't count: add and mul keep track of which, sum and mean leave them out.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

#include <map>

namespace examples {

class MaskedTensor : public shunt::TensorSubclass {
 public:
  /// `mask`: bool, of data's shape, true where an element counts.
  MaskedTensor(const shunt::Tensor& data, shunt::Tensor mask) : TensorSubclass(data), mask_(std::move(mask)) {
    SHUNT_CHECK(mask_.dtype() == shunt::kBool && mask_.sizes() == data.sizes(),
                "MaskedTensor: expected a mask of bools of shape ", data.sizes(), ", got ", mask_.dtype(), " of shape ",
                mask_.sizes());
  }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    static const std::map<std::string, void (MaskedTensor::*)(const shunt::OperatorHandle&, shunt::Stack*)> rules = {
        {"aten::add", &MaskedTensor::pointwise},
        {"aten::mul", &MaskedTensor::pointwise},
        {"aten::sum", &MaskedTensor::sum},
        {"aten::mean", &MaskedTensor::mean}};
    const auto rule = rules.find(op.operator_name().name);
    SHUNT_CHECK(rule != rules.end() && !op.schema().is_mutable(), "MaskedTensor: there is no rule for operator ",
                op.operator_name(), ", only for add, mul, sum and mean that make new tensors");
    (this->*rule->second)(op, stack);
  }
  std::string toString() const override {
    return name() + "(" + inner().toString() + ", mask=" + mask_.toString() + ")";
  }

 private:
  // Of two elements, both have to count.
  void pointwise(const shunt::OperatorHandle& op, shunt::Stack* stack) {
    shunt::Tensor mask = shunt::ones({}, shunt::kBool);
    shunt::forEachTensor(*stack, [&](const shunt::Tensor& t) {
      if (const auto* masked = shunt::wrapper_cast<MaskedTensor>(t)) mask = mask.logical_and(masked->mask_);
    });
    shunt::call_unwrapped<MaskedTensor>(op, stack, [&](const shunt::Tensor& t) {
      return shunt::wrap<MaskedTensor>(t, mask.expand(t.sizes()).clone());
    });
  }
  // The result counts everywhere: a plain tensor.
  void sum(const shunt::OperatorHandle& op, shunt::Stack* stack) {
    (*stack)[0] = shunt::where(mask_, inner(), 0);
    op.callBoxed(stack);
  }
  // The mean of what counts is the mean of all, zeros for the others, by the share that counts.
  void mean(const shunt::OperatorHandle& op, shunt::Stack* stack) {
    shunt::Stack share = *stack;
    share[0] = mask_.to(inner().dtype());
    op.callBoxed(&share);
    sum(op, stack);
    *stack = {(*stack)[0].toTensor() / share[0].toTensor()};
  }

  shunt::Tensor mask_;
};

}  // namespace examples
