// Wrapper classes for the tests of subclasses.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {

inline std::vector<std::string>& callLog() {
  static std::vector<std::string> log;
  return log;
}

/// Writes down what it handles, and runs it on the inner tensors.
struct Logged : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override {
    callLog().push_back("Logged " + op.operator_name().str());
    call_unwrapped<Logged>(op, stack);
  }
};

/// Another class that does the same.
struct Other : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override {
    callLog().push_back("Other " + op.operator_name().str());
    call_unwrapped<Other>(op, stack);
  }
};

struct LogMode : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    callLog().push_back("mode " + op.operator_name().str());
    if (act)
      act(op, stack);
    else
      op.callBoxed(stack);
  }
  std::function<void(const OperatorHandle&, Stack*)> act;
};

inline bool same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.eq(b).all().item<bool>();
}

class Subclasses : public testing::Test {
 protected:
  Subclasses() { callLog().clear(); }
  ~Subclasses() override { EXPECT_EQ(active_dispatch_modes(), 0); }
  std::vector<std::string> log() { return std::exchange(callLog(), {}); }
  Tensor a = randn({2, 3}), b = randn({2, 3});
};

}  // namespace shunt::test
