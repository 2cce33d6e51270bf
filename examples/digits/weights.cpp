#include "examples/digits/weights.h"

#include "examples/digits/model.h"
#include "examples/digits/training.h"

#include <shunt/files/files.h>

#include <cstdio>

namespace digits {
namespace {

constexpr uint64_t kSeed = 7;

struct Rows {
  Tensor images, labels;
};

/// Rows [first, first + n) of the file.
Rows rowsOf(const Data& data, int64_t first, int64_t n) {
  const Tensor images = shunt::from_blob(const_cast<float*>(data.images.data()), {kRows, kPixels}, shunt::kFloat);
  const Tensor labels = shunt::from_blob(const_cast<int64_t*>(data.labels.data()), {kRows}, shunt::kLong);
  return {images.narrow(0, first, n), labels.narrow(0, first, n)};
}

void train(Net& net, const Data& data, int epochs) {
  const Config reference;
  SGD optimizer(net.parameters(), learningRate(reference));
  const Rows all = rowsOf(data, 0, kTrainRows);
  for (int e = 0; e < epochs; ++e) {
    std::vector<int64_t> rows = shuffledRows(e);
    const Tensor order = shunt::from_blob(rows.data(), {kTrainRows}, shunt::kLong);
    const Tensor x = all.images.index_select(0, order), y = all.labels.index_select(0, order);
    for (int64_t first = 0; first + reference.batch <= kTrainRows; first += reference.batch) {
      optimizer.zero_grad();
      const Tensor guess = net.forward(x.narrow(0, first, reference.batch));
      shunt::cross_entropy_loss(guess, y.narrow(0, first, reference.batch)).backward();
      optimizer.step();
    }
  }
}

void printPredictions(const Net& net, const Data& data) {
  const shunt::NoGradGuard no_grad;
  const Rows test = rowsOf(data, kTrainRows, kRows - kTrainRows);
  const Tensor guess = net.forward(test.images).argmax(1);
  const auto right = guess.eq(test.labels).sum().item<int64_t>();
  std::printf("%lld of %lld test rows are right; guesses:", static_cast<long long>(right),
              static_cast<long long>(guess.numel()));
  for (int64_t i = 0; i < guess.numel(); ++i) std::printf(" %lld", static_cast<long long>(guess[i].item<int64_t>()));
  std::printf("\n");
}

}  // namespace

void trainAndSave(const Data& data, int epochs, const std::string& path) {
  Net net(kSeed);
  train(net, data, epochs);
  shunt::save(net.named_parameters(), path);
  printPredictions(net, data);
}

void loadAndPredict(const Data& data, const std::string& path) {
  Net net(kSeed + 1);  // other weights, until they are loaded
  net.load_parameters(shunt::load(path));
  printPredictions(net, data);
}

}  // namespace digits
