#include "pairs.h"

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <iostream>

namespace {

using shunt::Tensor;

struct PassOn : shunt::DispatchMode {
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  int calls = 0;
};

struct Wrapper : shunt::TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    shunt::call_unwrapped<Wrapper>(op, stack);
  }
};

// A product, a write, and a write to a view.
Tensor program(const Tensor& x) {
  Tensor y = x.mm(x);
  y.mul_(0.5);
  y.select(0, 1).add_(1);
  return y;
}

Tensor onCpu(const Tensor& t) { return t.detach().to(shunt::kCPU).to(shunt::kFloat); }

bool near(const Tensor& a, const Tensor& b, double most = 1e-5) {
  return onCpu(a).sub(onCpu(b)).abs().max().item<double>() <= most;
}

bool underAMode(const Tensor& x, const Tensor& expected) {
  PassOn mode;
  Tensor y;
  {
    const shunt::DispatchModeGuard guard(mode);
    y = program(x);
  }
  return mode.calls == 4 && near(y, expected);
}

bool inASubclass(const Tensor& x, const Tensor& expected) {
  const Tensor y = program(shunt::wrap<Wrapper>(x));
  return shunt::wrapper_cast<Wrapper>(y) != nullptr && y.device() == x.device() &&
         near(shunt::unwrap<Wrapper>(y), expected);
}

bool functionalized(const Tensor& x, const Tensor& expected) {
  const Tensor y = program(shunt::to_functional(x));
  return shunt::is_functional(y) && y.device() == x.device() && near(shunt::from_functional(y), expected);
}

bool fake(const Tensor& x, const Tensor& expected) {
  const Tensor y = program(shunt::to_fake(x));
  return shunt::is_fake(y) && y.device() == x.device() && y.sizes() == expected.sizes() &&
         y.strides() == expected.strides();
}

bool withGrad(const Tensor& x, const Tensor& expected) {
  const Tensor leaf = x.detach().clone().requires_grad_(), on_cpu = x.to(shunt::kCPU).requires_grad_();
  const Tensor y = program(leaf);
  y.sum().backward();
  program(on_cpu).sum().backward();
  return near(y, expected) && leaf.grad().device() == x.device() && near(leaf.grad(), on_cpu.grad());
}

bool underAutocast(const Tensor& x, const Tensor& expected) {
  const shunt::AutocastGuard autocast(shunt::kPrivateUse1, shunt::kBFloat16);
  const Tensor y = program(x);
  return y.dtype() == shunt::kBFloat16 && y.device() == x.device() && near(y, expected, 0.1);
}

bool withoutGrad(const Tensor& x, const Tensor& expected) {
  const shunt::NoGradGuard no_grad;
  const Tensor y = program(x.detach().requires_grad_());
  return !y.requires_grad() && near(y, expected);
}

bool inInferenceMode(const Tensor& x, const Tensor& expected) {
  const shunt::InferenceMode inference;
  const Tensor y = program(x);
  return y.is_inference() && near(y, expected);
}

struct Pair {
  const char* with;
  bool (*right)(const Tensor& x, const Tensor& expected);
};
constexpr Pair kPairs[] = {
    {"a dispatch mode", &underAMode},
    {"a subclass", &inASubclass},
    {"functionalize", &functionalized},
    {"fake tensors", &fake},
    {"autograd", &withGrad},
    {"autocast", &underAutocast},
    {"no_grad", &withoutGrad},
    {"inference mode", &inInferenceMode},
};

}  // namespace

bool runPairs(shunt::Device device) {
  const Tensor plain = shunt::tensor({{1., -2.}, {3., 4.}}) / 3, expected = program(plain), x = plain.to(device);
  bool all = true;
  for (const Pair& pair : kPairs) {
    const bool right = pair.right(x, expected);
    std::cout << "with " << pair.with << ": " << (right ? "right" : "WRONG") << '\n';
    all &= right;
  }
  return all;
}
