#include "examples/digits_conv/net.h"

#include "examples/digits/model.h"

#include <algorithm>

namespace digits {
namespace {

using namespace conv_net;

constexpr uint64_t kSeed = 11;

/// Uniform in +-1/sqrt(fan_in), as torch.nn.Conv2d and Linear start.
Tensor uniform(shunt::IntArrayRef sizes, int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  Tensor t = shunt::empty(sizes, shunt::kFloat).uniform_(-bound, bound);
  t.requires_grad_();
  return t;
}

/// Convolution, batch_norm, relu, and the largest of each 2x2 window.
struct Block {
  Tensor kernel, weight, bias, mean, var;

  Block(int64_t in, int64_t out)
      : kernel(uniform({out, in, 3, 3}, in * 9)),
        weight(shunt::ones({out})),
        bias(shunt::zeros({out})),
        mean(shunt::zeros({out})),
        var(shunt::ones({out})) {
    weight.requires_grad_();
    bias.requires_grad_();
  }
  Tensor forward(const Tensor& x, bool training) const {
    const Tensor y = shunt::conv2d(x, kernel, {}, /*stride=*/1, /*padding=*/1);
    const Tensor z = shunt::batch_norm(y, weight, bias, mean, var, training, kMomentum, kEps, false);
    return shunt::max_pool2d(shunt::relu(z), 2);
  }
};

struct ConvNet {
  Block first{1, kFirst}, second{kFirst, kSecond};
  Tensor weight = uniform({kClasses, kFeatures}, kFeatures), bias = shunt::zeros({kClasses});

  ConvNet() { bias.requires_grad_(); }
  Tensor forward(const Tensor& images, bool training) const {
    const Tensor x = images.view({-1, 1, kSide, kSide});
    return shunt::linear(second.forward(first.forward(x, training), training).flatten(1), weight, bias);
  }
  std::vector<Tensor> parameters() const {
    return {first.kernel, first.weight, first.bias, second.kernel, second.weight, second.bias, weight, bias};
  }
};

ConvNet seededNet() {
  shunt::manual_seed(kSeed);
  return ConvNet();
}

class ConvTrainer : public Trainer {
 public:
  ConvTrainer(const Data& data, int64_t batch)
      : batch_(batch), net_(seededNet()), optimizer_(net_.parameters(), kLearningRate) {
    // Operators don't write to these.
    images_ = shunt::from_blob(const_cast<float*>(data.images.data()), {kRows, kPixels}, shunt::kFloat);
    labels_ = shunt::from_blob(const_cast<int64_t*>(data.labels.data()), {kRows}, shunt::kLong);
  }

  void epoch(int number) override {
    std::vector<int64_t> rows = shuffledRows(number);
    const Tensor order = shunt::from_blob(rows.data(), {kTrainRows}, shunt::kLong);
    const Tensor x = images_.index_select(0, order), y = labels_.index_select(0, order);
    for (int64_t first = 0; first + batch_ <= kTrainRows; first += batch_)
      result_.losses.push_back(trainStep(x.narrow(0, first, batch_), y.narrow(0, first, batch_)).item<double>());
  }

  void step() override {
    const int64_t first = nextBatch(next_row_, batch_);
    trainStep(images_.narrow(0, first, batch_), labels_.narrow(0, first, batch_)).item<double>();
  }

  Result finish() override {
    shunt::NoGradGuard no_grad;
    const int64_t tests = kRows - kTrainRows;
    const Tensor guess = net_.forward(images_.narrow(0, kTrainRows, tests), false).argmax(1);
    result_.accuracy = guess.eq(labels_.narrow(0, kTrainRows, tests)).sum().item<double>() / static_cast<double>(tests);
    return result_;
  }

 private:
  Tensor trainStep(const Tensor& x, const Tensor& y) {
    optimizer_.zero_grad();
    Tensor loss = shunt::cross_entropy_loss(net_.forward(x, true), y);
    loss.backward();
    optimizer_.step();
    return loss;
  }

  int64_t batch_, next_row_ = 0;
  ConvNet net_;
  SGD optimizer_;
  Tensor images_, labels_;
  Result result_;
};

}  // namespace

std::vector<float> initialConvWeights() {
  const ConvNet net = seededNet();
  std::vector<float> all;
  for (const Tensor& t : {net.first.kernel, net.second.kernel, net.weight}) {
    const auto* from = t.data_ptr<float>();
    all.insert(all.end(), from, from + t.numel());
  }
  return all;
}

std::unique_ptr<Trainer> makeShuntConvTrainer(const Data& data, int64_t batch) {
  return std::make_unique<ConvTrainer>(data, batch);
}

}  // namespace digits
