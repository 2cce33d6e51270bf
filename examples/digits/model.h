// The classifier and its optimisers, as one would write them with PyTorch's C++ API.
#pragma once

#include <shunt/shunt.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace digits {

using shunt::Tensor;

/// A perceptron with one hidden layer: 64 -> 128 -> 10.
struct Net {
  static constexpr int64_t kHidden = 128;

  Tensor w1, b1, w2, b2;

  explicit Net(uint64_t seed) {
    shunt::manual_seed(seed);
    // Uniform in +-1/sqrt(fan_in), as torch.nn.Linear starts.
    auto uniform = [](shunt::IntArrayRef sizes, int64_t fan_in) {
      const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
      Tensor t = shunt::empty(sizes, shunt::kFloat).uniform_(-bound, bound);
      t.requires_grad_();
      return t;
    };
    w1 = uniform({kHidden, 64}, 64);
    b1 = uniform({kHidden}, 64);
    w2 = uniform({10, kHidden}, kHidden);
    b2 = uniform({10}, kHidden);
  }

  Tensor forward(const Tensor& x) const { return shunt::linear(shunt::relu(shunt::linear(x, w1, b1)), w2, b2); }
  std::vector<Tensor> parameters() const { return {w1, b1, w2, b2}; }
  /// By the names that a torch.nn.Module with layers `hidden` and `output` has for them.
  std::map<std::string, Tensor> named_parameters() const {
    return {{"hidden.weight", w1}, {"hidden.bias", b1}, {"output.weight", w2}, {"output.bias", b2}};
  }
  /// Takes the elements of parameters of these names; throws where one is missing or of another shape.
  void load_parameters(const std::map<std::string, Tensor>& from) {
    const shunt::NoGradGuard no_grad;
    for (const auto& [name, parameter] : named_parameters()) {
      const auto found = from.find(name);
      if (found == from.end()) throw std::runtime_error("there is no parameter '" + name + "'");
      if (!found->second.sizes().equals(parameter.sizes()))
        throw std::runtime_error("parameter '" + name + "' has another shape");
      parameter.copy_(found->second);
    }
  }
};

class Optimizer {
 public:
  explicit Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  virtual ~Optimizer() = default;
  virtual void step() = 0;
  void zero_grad() {
    for (Tensor& p : parameters_) p.mutable_grad() = Tensor();
  }

 protected:
  std::vector<Tensor> parameters_;
};

/// v = momentum * v + grad;  p = p - lr * v. Without momentum, v is the gradient.
class SGD : public Optimizer {
 public:
  SGD(std::vector<Tensor> parameters, double lr, double momentum = 0)
      : Optimizer(std::move(parameters)), lr_(lr), momentum_(momentum), velocity_(parameters_.size()) {}

  void step() override {
    shunt::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Tensor direction = parameters_[i].grad();
      if (momentum_ != 0) {
        if (velocity_[i].defined())
          velocity_[i].mul_(momentum_).add_(direction);
        else
          velocity_[i] = direction.clone();
        direction = velocity_[i];
      }
      parameters_[i].add_(direction, -lr_);
    }
  }

 private:
  double lr_, momentum_;
  std::vector<Tensor> velocity_;
};

/// Kingma and Ba, 2015 (arXiv:1412.6980), with torch.optim.Adam's defaults. Its step count is a C++ number, which a
/// graph of compile() would keep as it was recorded: compile a step with CapturableAdam.
class Adam : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, double lr) : Optimizer(std::move(parameters)), lr_(lr) {
    for (const Tensor& p : parameters_) {
      mean_.push_back(shunt::zeros_like(p));
      square_.push_back(shunt::zeros_like(p));
    }
  }

  void step() override {
    shunt::NoGradGuard no_grad;
    ++steps_;
    const double correction1 = 1 - std::pow(kBeta1, steps_), correction2 = 1 - std::pow(kBeta2, steps_);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& g = parameters_[i].grad();
      mean_[i].mul_(kBeta1).add_(g, 1 - kBeta1);
      square_[i].mul_(kBeta2).addcmul_(g, g, 1 - kBeta2);
      Tensor denominator = square_[i].sqrt().div_(std::sqrt(correction2)).add_(kEpsilon);
      parameters_[i].addcdiv_(mean_[i], denominator, -lr_ / correction1);
    }
  }

 private:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  double lr_;
  int64_t steps_ = 0;
  std::vector<Tensor> mean_, square_;
};

/// Adam whose state is all in tensors, so that a graph of its steps counts them (torch.optim.Adam's `capturable`).
/// Rounds some steps in another way than Adam.
class CapturableAdam : public Optimizer {
 public:
  CapturableAdam(std::vector<Tensor> parameters, double lr) : Optimizer(std::move(parameters)), lr_(lr) {
    for (const Tensor& p : parameters_) {
      mean_.push_back(shunt::zeros_like(p));
      square_.push_back(shunt::zeros_like(p));
    }
  }

  void step() override {
    shunt::NoGradGuard no_grad;
    power1_.mul_(kBeta1);
    power2_.mul_(kBeta2);
    const Tensor step_size = (1 - power1_).reciprocal_().mul_(lr_), root2 = (1 - power2_).sqrt_();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& g = parameters_[i].grad();
      mean_[i].mul_(kBeta1).add_(g, 1 - kBeta1);
      square_[i].mul_(kBeta2).addcmul_(g, g, 1 - kBeta2);
      const Tensor denominator = square_[i].sqrt().div_(root2).add_(kEpsilon);
      parameters_[i].sub_((mean_[i] / denominator).mul_(step_size));
    }
  }

 private:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  double lr_;
  // The powers of the betas after so many steps.
  Tensor power1_ = shunt::ones({}, shunt::kDouble), power2_ = shunt::ones({}, shunt::kDouble);
  std::vector<Tensor> mean_, square_;
};

}  // namespace digits
