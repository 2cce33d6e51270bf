// A custom operator whose kernel reads memory, with its gradient and its batching rule.
#include "examples/transforms/batching_rule.h"

#include <shunt/autograd/custom_function.h>
#include <shunt/shunt.h>
#include <shunt/transforms/batching.h>
#include <shunt/transforms/grad_transforms.h>

#include <iostream>

namespace {

using shunt::Batched;
using shunt::Tensor;
using shunt::autograd::AutogradContext;
using shunt::autograd::variable_list;

int kernel_calls = 0;

/// Exponential smoothing along the last dimension: y[i] = x[i] + decay * y[i - 1]. All other dimensions are rows.
Tensor smoothKernel(const Tensor& x, double decay) {
  ++kernel_calls;
  const Tensor in = x.contiguous();
  Tensor out = shunt::empty_like(in);
  const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
  const double* from = in.data_ptr<double>();
  double* to = out.data_ptr<double>();
  for (int64_t r = 0; r < rows; ++r, from += n, to += n) {
    double last = 0;
    for (int64_t i = 0; i < n; ++i) to[i] = last = from[i] + decay * last;
  }
  return out;
}

/// The operator: goes through the dispatcher.
Tensor smooth(const Tensor& x, double decay) {
  static const auto op = shunt::Dispatcher::singleton()
                             .findSchemaOrThrow("transforms_example::smooth", "")
                             .typed<Tensor(const Tensor&, double)>();
  return op.call(x, decay);
}

/// The gradient smooths from the end to the start.
struct Smooth : shunt::autograd::Function<Smooth> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double decay) {
    ctx->saved_data["decay"] = decay;
    const shunt::AutoDispatchBelowAutograd below;  // or the operator would come back here
    return smooth(x, decay);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double decay = ctx->saved_data["decay"].toDouble();
    return {smooth(grads[0].flip({-1}), decay).flip({-1}), Tensor()};
  }
};

/// Samples become rows: with the batch in front, one call of the operator serves them all.
Batched smoothRule(const Batched& x, double decay) { return {smooth(x.in_front(), decay), 0}; }

SHUNT_LIBRARY(transforms_example, m) {
  m.def("smooth(Tensor x, float decay) -> Tensor");
  m.impl("smooth", shunt::DispatchKey::CPU, &smoothKernel);
  m.impl("smooth", shunt::DispatchKey::Autograd, [](const Tensor& x, double decay) { return Smooth::apply(x, decay); });
  shunt::register_vmap(m, "transforms_example::smooth", &smoothRule);
}

}  // namespace

void batchingRule() {
  const auto loss = [](const Tensor& x) { return smooth(x, 0.5).square().sum(); };
  const Tensor signals = shunt::linspace(-1, 1, 96, shunt::TensorOptions(shunt::kDouble)).sin().reshape({32, 3});
  kernel_calls = 0;
  const Tensor each = shunt::vmap(shunt::grad(loss))(signals);
  std::cout << "gradients " << each.sizes() << ": " << kernel_calls
            << " calls of the kernel, one for the value and one "
            << "for the gradient\n";
  kernel_calls = 0;
  bool equal = true;
  for (int64_t i = 0; i < 32; ++i) equal = equal && each[i].eq(shunt::grad(loss)(signals[i])).all().item<bool>();
  std::cout << "sample by sample: " << kernel_calls << " calls, " << (equal ? "the same" : "other") << " bits\n";
}
