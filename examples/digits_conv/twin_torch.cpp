// The same network on libtorch, from the same weights, on the same batches: what Shunt is compared with.
#include "examples/digits_conv/net.h"

#include <torch/types.h>
#include <torch/utils.h>

namespace digits {
namespace {

using namespace conv_net;
using torch::Tensor;

struct Block {
  Tensor kernel, weight, bias, mean, var;

  Block(Tensor k)
      : kernel(k),
        weight(torch::ones({k.size(0)})),
        bias(torch::zeros({k.size(0)})),
        mean(torch::zeros({k.size(0)})),
        var(torch::ones({k.size(0)})) {
    weight.requires_grad_();
    bias.requires_grad_();
  }
  Tensor forward(const Tensor& x, bool training) const {
    const Tensor y = torch::conv2d(x, kernel, {}, 1, 1);
    const Tensor z = torch::batch_norm(y, weight, bias, mean, var, training, kMomentum, kEps, false);
    return torch::max_pool2d(torch::relu(z), 2);
  }
};

/// Takes the flattened weights one after another.
class Reader {
 public:
  explicit Reader(const std::vector<float>& all) : at_(all.data()) {}
  Tensor take(std::vector<int64_t> sizes) {
    Tensor t = torch::from_blob(const_cast<float*>(at_), sizes, torch::kFloat).clone();
    at_ += t.numel();
    return t.requires_grad_();
  }

 private:
  const float* at_;
};

struct ConvNet {
  Block first, second;
  Tensor weight, bias = torch::zeros({kClasses}).requires_grad_();

  explicit ConvNet(Reader read)
      : first(read.take({kFirst, 1, 3, 3})),
        second(read.take({kSecond, kFirst, 3, 3})),
        weight(read.take({kClasses, kFeatures})) {}
  Tensor forward(const Tensor& images, bool training) const {
    const Tensor x = images.view({-1, 1, kSide, kSide});
    return torch::linear(second.forward(first.forward(x, training), training).flatten(1), weight, bias);
  }
  std::vector<Tensor> parameters() const {
    return {first.kernel, first.weight, first.bias, second.kernel, second.weight, second.bias, weight, bias};
  }
};

class TorchConvTrainer : public Trainer {
 public:
  TorchConvTrainer(const Data& data, int64_t batch, const std::vector<float>& weights)
      : batch_(batch), net_(Reader(weights)) {
    torch::set_num_threads(1);
    images_ = torch::from_blob(const_cast<float*>(data.images.data()), {kRows, kPixels}, torch::kFloat);
    labels_ = torch::from_blob(const_cast<int64_t*>(data.labels.data()), {kRows}, torch::kLong);
  }

  void epoch(int number) override {
    std::vector<int64_t> rows = shuffledRows(number);
    const Tensor order = torch::from_blob(rows.data(), {kTrainRows}, torch::kLong);
    const Tensor x = images_.index_select(0, order), y = labels_.index_select(0, order);
    for (int64_t first = 0; first + batch_ <= kTrainRows; first += batch_)
      result_.losses.push_back(trainStep(x.narrow(0, first, batch_), y.narrow(0, first, batch_)).item<double>());
  }

  void step() override {
    const int64_t first = nextBatch(next_row_, batch_);
    trainStep(images_.narrow(0, first, batch_), labels_.narrow(0, first, batch_)).item<double>();
  }

  Result finish() override {
    torch::NoGradGuard no_grad;
    const int64_t tests = kRows - kTrainRows;
    const Tensor guess = net_.forward(images_.narrow(0, kTrainRows, tests), false).argmax(1);
    result_.accuracy = guess.eq(labels_.narrow(0, kTrainRows, tests)).sum().item<double>() / static_cast<double>(tests);
    return result_;
  }

 private:
  Tensor trainStep(const Tensor& x, const Tensor& y) {
    std::vector<Tensor> parameters = net_.parameters();
    for (Tensor& p : parameters) p.mutable_grad() = Tensor();
    Tensor loss = torch::cross_entropy_loss(net_.forward(x, true), y);
    loss.backward();
    torch::NoGradGuard no_grad;
    for (Tensor& p : parameters) p.add_(p.grad(), -kLearningRate);
    return loss;
  }

  int64_t batch_, next_row_ = 0;
  ConvNet net_;
  Tensor images_, labels_;
  Result result_;
};

}  // namespace

std::unique_ptr<Trainer> makeTorchConvTrainer(const Data& data, int64_t batch, const std::vector<float>& weights) {
  return std::make_unique<TorchConvTrainer>(data, batch, weights);
}

}  // namespace digits
