// A tensor subclass that holds a tensor and passes every call on to it.
#pragma once

#include <shunt/interpose/tensor_subclass.h>

namespace shunt::test {

struct Wrapper : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override { call_unwrapped<Wrapper>(op, stack); }
};

}  // namespace shunt::test
