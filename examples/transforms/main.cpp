// vmap and grad: gradients for each sample, many small models at once, Jacobian and Hessian,
// pendulums, a custom operator with a batching rule.
//
//   transforms [per_sample | ensemble | jacobian | pendulums | batching_rule | products | randomness | combined]
#include "examples/parts.h"
#include "examples/transforms/batching_rule.h"
#include "examples/transforms/derivatives.h"

#include <shunt/shunt.h>
#include <shunt/transforms/grad_transforms.h>

#include <iomanip>
#include <iostream>

namespace {

using shunt::Tensor;
using Parameters = std::vector<Tensor>;

/// A perceptron of one sample: x [2] -> [1].
Tensor forward(const Parameters& p, const Tensor& x) {
  return shunt::linear(shunt::linear(x, p[0], p[1]).tanh(), p[2], p[3]).squeeze();
}

Tensor loss(const Parameters& p, const Tensor& x, const Tensor& y) { return (forward(p, x) - y).square(); }

Parameters start(uint64_t seed) {
  shunt::manual_seed(seed);
  return {shunt::randn({8, 2}), shunt::zeros({8}), shunt::randn({1, 8}) * 0.3, shunt::zeros({1})};
}

Tensor inputs() { return shunt::linspace(-1, 1, 64).reshape({32, 2}); }

/// Differential privacy and influence want the gradient of each sample: a loop would run the network 32 times.
void perSample() {
  const Parameters p = start(1);
  const Tensor x = inputs(), y = (x.select(1, 0) * 3).sin();
  const auto each = shunt::vmap(shunt::grad(loss), {.in_dims = {std::nullopt, 0, 0}});
  const Parameters grads = each(p, x, y);
  Tensor squares = shunt::zeros({32});
  for (const Tensor& g : grads) squares = squares + g.reshape({32, -1}).square().sum(1);
  const Tensor clip = (1 / squares.sqrt()).clamp_max(1);  // no sample counts more than one of length 1
  std::cout << "gradients of the first weight: " << grads[0].sizes() << ", one for each sample\n";
  const Tensor clipped = (grads[0].reshape({32, -1}) * clip.unsqueeze(1)).mean(0);
  std::cout << "longest before " << (squares.max().sqrt().item<float>() > 1 ? "more" : "less") << " than 1, mean after "
            << (clipped.square().sum().sqrt().item<float>() <= 1 ? "at most" : "more than") << " 1\n";
  const Parameters alone = shunt::grad(loss)(p, x[5], y[5]);
  std::cout << "sample 5 alone: "
            << ((grads[0][5] - alone[0]).abs().max().item<float>() < 1e-5f ? "the same" : "another") << " gradient\n";
}

/// Eight models with weights of their own are one model with a dimension more: trained in the same calls.
void ensemble() {
  constexpr int64_t kModels = 8;
  std::vector<Parameters> models;
  for (int64_t m = 0; m < kModels; ++m) models.push_back(start(static_cast<uint64_t>(m)));
  Parameters stacked;
  for (size_t k = 0; k < 4; ++k) {
    std::vector<Tensor> column;
    for (const Parameters& p : models) column.push_back(p[k]);
    stacked.push_back(shunt::stack(column));
  }
  const Tensor x = inputs(), y = (x.select(1, 0) * 3).sin();
  const auto mean_loss = [](const Parameters& p, const Tensor& in, const Tensor& out) {
    return shunt::vmap(loss, {.in_dims = {std::nullopt, 0, 0}})(p, in, out).mean();
  };
  const auto step = shunt::vmap(shunt::value_and_grad(mean_loss), {.in_dims = {0, std::nullopt, std::nullopt}});
  Tensor first, last;
  for (int i = 0; i < 200; ++i) {
    const auto [value, grads] = step(stacked, x, y);
    if (i == 0) first = value;
    last = value;
    for (size_t k = 0; k < 4; ++k) stacked[k] = stacked[k] - grads[k] * 0.1;
  }
  std::cout << kModels << " models, losses " << last.sizes() << ": " << last.lt(first * 0.5).sum().item<int64_t>()
            << " at least halved in 200 steps\n";
}

/// From polar to Cartesian: derivatives that can be written down.
void jacobian() {
  const auto to_cartesian = [](const Tensor& p) { return shunt::stack({p[0] * p[1].cos(), p[0] * p[1].sin()}); };
  const Tensor p = shunt::tensor({2.0, 0.0});
  std::cout << "Jacobian at (2, 0)\n" << shunt::jacrev(to_cartesian)(p) << '\n';
  const auto rosenbrock = [](const Tensor& v) { return (1 - v[0]).square() + 100 * (v[1] - v[0].square()).square(); };
  Tensor v = shunt::tensor({-1.0, 2.0});
  for (int i = 0; i < 8; ++i) {  // Newton: v -= H^-1 g
    const Tensor g = shunt::grad(rosenbrock)(v), h = shunt::hessian(rosenbrock)(v);
    const Tensor det = h[0][0] * h[1][1] - h[0][1] * h[1][0];
    v = v - shunt::stack({h[1][1] * g[0] - h[0][1] * g[1], h[0][0] * g[1] - h[1][0] * g[0]}) / det;
  }
  std::cout << std::fixed << std::setprecision(4) << "Newton's minimum " << v[0].item<double>() << ' '
            << v[1].item<double>() << '\n';
}

/// A damped pendulum: angle and speed in radians and seconds, where gravity over length is 1 per square second.
Tensor derivative(const Tensor& state, const Tensor& damping) {
  return shunt::stack({state[1], -state[0].sin() - damping * state[1]});
}

/// One step of the classical Runge-Kutta method, of one pendulum: state [2] -> [2].
Tensor rungeKutta(const Tensor& state, const Tensor& damping) {
  constexpr double kStep = 0.05;
  const Tensor k1 = derivative(state, damping);
  const Tensor k2 = derivative(state + k1 * (kStep / 2), damping);
  const Tensor k3 = derivative(state + k2 * (kStep / 2), damping);
  const Tensor k4 = derivative(state + k3 * kStep, damping);
  return state + (k1 + 2 * k2 + 2 * k3 + k4) * (kStep / 6);
}

Tensor energy(const Tensor& states) { return states.select(-1, 1).square() / 2 + 1 - states.select(-1, 0).cos(); }

/// 256 pendulums, each with a start and a damping of its own, for 20 seconds.
void pendulums() {
  constexpr int64_t kCount = 256;
  const auto options = shunt::TensorOptions().dtype(shunt::kDouble);
  const Tensor damping = shunt::linspace(0, 0.5, kCount, options);
  const Tensor start = shunt::stack({shunt::linspace(-3, 3, kCount, options), shunt::zeros({kCount}, options)}, 1);
  const auto step = shunt::vmap(rungeKutta);
  Tensor states = start, alone = start[7];
  for (int i = 0; i < 400; ++i) {
    states = step(states, damping);
    alone = rungeKutta(alone, damping[7]);
  }
  const Tensor before = energy(start), after = energy(states);
  const double drift = (after[0] - before[0]).abs().item<double>();
  std::cout << kCount << " pendulums, states " << states.sizes() << "\nundamped: its energy "
            << (drift < 1e-5 ? "is kept" : "drifts") << '\n'
            << after.narrow(0, 1, kCount - 1).lt(before.narrow(0, 1, kCount - 1)).sum().item<int64_t>()
            << " have lost energy\npendulum 7 alone: "
            << (states[7].eq(alone).all().item<bool>() ? "the same" : "other") << " bits\n";
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "transforms",
                            {{"per_sample", perSample},
                             {"ensemble", ensemble},
                             {"jacobian", jacobian},
                             {"pendulums", pendulums},
                             {"batching_rule", batchingRule},
                             {"products", examples::products},
                             {"randomness", examples::randomness},
                             {"combined", examples::combined}});
}
