// A tensor subclass that holds a tensor, passes every call on to it, and counts them.
#pragma once

#include <shunt/interpose/tensor_subclass.h>

namespace shunt::test {

struct Wrapper : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override {
    ++calls;
    call_unwrapped<Wrapper>(op, stack);
  }
  static inline thread_local int calls = 0;
};

}  // namespace shunt::test
