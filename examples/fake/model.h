// A model of any width, and a step of its training: used by the example and by the test of its memory.
#pragma once

#include <shunt/shunt.h>

#include <vector>

namespace fake_example {

/// Layers of `width` x `width` weights with layer_norm and relu between, and a head of `classes` classes.
struct Model {
  Model(int64_t layers, int64_t width, int64_t classes, const shunt::TensorOptions& options) {
    for (int64_t i = 0; i < layers; ++i) {
      weights.push_back(shunt::empty({width, width}, options).normal_(0, 0.02).requires_grad_());
      biases.push_back(shunt::zeros({width}, options).requires_grad_());
    }
    weights.push_back(shunt::empty({classes, width}, options).normal_(0, 0.02).requires_grad_());
    biases.push_back(shunt::zeros({classes}, options).requires_grad_());
  }
  shunt::Tensor forward(shunt::Tensor x) const {
    for (size_t i = 0; i + 1 < weights.size(); ++i)
      x = shunt::relu(shunt::layer_norm(shunt::linear(x, weights[i], biases[i]), {weights[i].size(0)}));
    return shunt::linear(x, weights.back(), biases.back());
  }
  std::vector<shunt::Tensor> parameters() const {
    std::vector<shunt::Tensor> all = weights;
    all.insert(all.end(), biases.begin(), biases.end());
    return all;
  }
  int64_t count() const {
    int64_t n = 0;
    for (const shunt::Tensor& p : parameters()) n += p.numel();
    return n;
  }
  std::vector<shunt::Tensor> weights, biases;
};

/// Adam with two moments per parameter.
struct Adam {
  explicit Adam(const std::vector<shunt::Tensor>& parameters) : parameters(parameters) {
    for (const shunt::Tensor& p : parameters) {
      first.push_back(shunt::zeros_like(p));
      second.push_back(shunt::zeros_like(p));
    }
  }
  void step() {
    const shunt::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const shunt::Tensor& grad = parameters[i].grad();
      first[i].mul_(0.9).add_(grad, 0.1);
      second[i].mul_(0.999).addcmul_(grad, grad, 0.001);
      parameters[i].addcdiv_(first[i], second[i].sqrt().add_(1e-8), -1e-3);
      parameters[i].mutable_grad() = shunt::Tensor();
    }
  }
  std::vector<shunt::Tensor> parameters, first, second;
};

}  // namespace fake_example
