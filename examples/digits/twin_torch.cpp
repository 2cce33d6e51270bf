// The same training runs on libtorch, from the same parameters, on the same batches: what Shunt is compared with.
#include "examples/digits/training.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <ATen/autocast_mode.h>

#include <chrono>
#include <cmath>

namespace digits {
namespace {

using torch::Tensor;
using Clock = std::chrono::steady_clock;

struct Net {
  Tensor w1, b1, w2, b2;
  Tensor forward(const Tensor& x) const { return torch::linear(torch::relu(torch::linear(x, w1, b1)), w2, b2); }
  std::vector<Tensor> parameters() const { return {w1, b1, w2, b2}; }
};

Net makeNet(const std::vector<float>& initial) {
  const float* at = initial.data();
  auto take = [&](std::vector<int64_t> sizes) {
    Tensor t = torch::from_blob(const_cast<float*>(at), sizes, torch::kFloat).clone();
    at += t.numel();
    return t.requires_grad_();
  };
  const auto hidden = static_cast<int64_t>((initial.size() - 10) / 75);  // 64 h + h + 10 h + 10 parameters
  return {take({hidden, 64}), take({hidden}), take({10, hidden}), take({10})};
}

class AutocastScope {
 public:
  explicit AutocastScope(bool on) : on_(on) {
    if (!on_) return;
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    if (!on_) return;
    at::autocast::set_cpu_enabled(false);
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }

 private:
  bool on_;
};

class TorchTrainer : public Trainer {
 public:
  TorchTrainer(const Data& data, const Config& config, const std::vector<float>& initial)
      : config_(config), net_(makeNet(initial)) {
    torch::set_num_threads(1);
    images_ = torch::from_blob(const_cast<float*>(data.images.data()), {kRows, kPixels}, torch::kFloat);
    labels_ = torch::from_blob(const_cast<int64_t*>(data.labels.data()), {kRows}, torch::kLong);
    for (const Tensor& p : net_.parameters()) {
      state1_.push_back(config.optimizer == OptimizerKind::kAdam ? torch::zeros_like(p.detach()) : Tensor());
      state2_.push_back(state1_.back().defined() ? torch::zeros_like(p.detach()) : Tensor());
    }
  }

  void epoch(int number) override {
    std::vector<int64_t> rows = shuffledRows(number);
    const Tensor order = torch::from_blob(rows.data(), {kTrainRows}, torch::kLong);
    const Tensor x = images_.index_select(0, order), y = labels_.index_select(0, order);
    const int64_t steps = kTrainRows / config_.batch;
    const auto start = Clock::now();
    for (int64_t s = 0; s < steps; ++s)
      result_.losses.push_back(
          trainStep(x.narrow(0, s * config_.batch, config_.batch), y.narrow(0, s * config_.batch, config_.batch)));
    result_.step_times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                                 static_cast<double>(steps));
  }

  void step() override {
    const int64_t first = nextBatch(next_row_, config_.batch);
    trainStep(images_.narrow(0, first, config_.batch), labels_.narrow(0, first, config_.batch));
  }

  Result finish() override {
    torch::NoGradGuard no_grad;
    AutocastScope autocast(config_.autocast);
    const int64_t tests = kRows - kTrainRows;
    const Tensor guess = net_.forward(images_.narrow(0, kTrainRows, tests)).argmax(1);
    result_.accuracy = guess.eq(labels_.narrow(0, kTrainRows, tests)).sum().item<double>() / static_cast<double>(tests);
    batch_ = images_.narrow(0, 0, config_.batch);
    result_.inference_time = medianMicroseconds(
        [](void* self) {
          auto* trainer = static_cast<TorchTrainer*>(self);
          trainer->net_.forward(trainer->batch_);
        },
        this);
    return result_;
  }

 private:
  double trainStep(const Tensor& x, const Tensor& y) {
    auto parameters = net_.parameters();
    for (Tensor& p : parameters) p.mutable_grad() = Tensor();
    Tensor loss;
    {
      AutocastScope autocast(config_.autocast);
      loss = torch::cross_entropy_loss(net_.forward(x), y);
    }
    loss.backward();
    torch::NoGradGuard no_grad;
    ++steps_;
    for (size_t i = 0; i < parameters.size(); ++i) update(i, parameters[i]);
    return loss.item<double>();
  }

  void update(size_t i, Tensor& p) {
    const double lr = learningRate(config_);
    const Tensor& g = p.grad();
    if (config_.optimizer == OptimizerKind::kSGD) {
      p.add_(g, -lr);
    } else if (config_.optimizer == OptimizerKind::kMomentum) {
      if (state1_[i].defined())
        state1_[i].mul_(0.9).add_(g);
      else
        state1_[i] = g.clone();
      p.add_(state1_[i], -lr);
    } else {
      const double correction1 = 1 - std::pow(0.9, steps_), correction2 = 1 - std::pow(0.999, steps_);
      state1_[i].mul_(0.9).add_(g, 1 - 0.9);
      state2_[i].mul_(0.999).addcmul_(g, g, 1 - 0.999);
      Tensor denominator = state2_[i].sqrt().div_(std::sqrt(correction2)).add_(1e-8);
      p.addcdiv_(state1_[i], denominator, -lr / correction1);
    }
  }

  Config config_;
  Net net_;
  std::vector<Tensor> state1_, state2_;
  Tensor images_, labels_, batch_;
  int64_t steps_ = 0, next_row_ = 0;
  Result result_;
};

}  // namespace

std::unique_ptr<Trainer> makeTorchTrainer(const Data& data, const Config& config, const std::vector<float>& initial) {
  return std::make_unique<TorchTrainer>(data, config, initial);
}

}  // namespace digits
