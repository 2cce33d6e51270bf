// Trains a convolutional network (convolution, batch_norm, pooling) on the UCI digits.
//
//   digits_conv train    prints the mean loss of each epoch and the accuracy on rows that it never saw
//   digits_conv twin     the same beside libtorch, where it was found when this was built: from the same weights, on
//   the
//                        same batches; exits with 1 where the two disagree
#include "examples/digits_conv/net.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string_view>

namespace {

using namespace digits;

constexpr int kEpochs = 6;
constexpr int64_t kBatch = 32;

int train() {
  const Data data = load(SHUNT_DIGITS_DATA);
  const auto trainer = makeShuntConvTrainer(data, kBatch);
  for (int e = 0; e < kEpochs; ++e) trainer->epoch(e);
  const Result result = trainer->finish();
  const size_t steps = result.losses.size() / kEpochs;
  for (size_t e = 0; e < kEpochs; ++e) {
    const auto first = result.losses.begin() + static_cast<ptrdiff_t>(e * steps);
    std::printf("epoch %zu: loss %.4f\n", e + 1,
                std::accumulate(first, first + static_cast<ptrdiff_t>(steps), 0.0) / static_cast<double>(steps));
  }
  const bool good = result.accuracy >= 0.92;
  std::printf("accuracy on the 297 test rows %.4f (at least 0.92): %s\n", result.accuracy, good ? "ok" : "TOO LOW");
  return good ? 0 : 1;
}

#ifdef SHUNT_DIGITS_TWIN
int compareWithTwin() {
  const Data data = load(SHUNT_DIGITS_DATA);
  const auto mine = makeShuntConvTrainer(data, kBatch);
  const auto twin = makeTorchConvTrainer(data, kBatch, initialConvWeights());
  for (int e = 0; e < kEpochs; ++e) {
    mine->epoch(e);
    twin->epoch(e);
  }
  const Result a = mine->finish(), b = twin->finish();
  double difference = 0;
  for (size_t i = 0; i < 20; ++i) difference = std::max(difference, std::abs(a.losses[i] - b.losses[i]));
  const double rows = std::abs(a.accuracy - b.accuracy) * static_cast<double>(kRows - kTrainRows);
  const bool same = difference <= 1e-3 && rows <= 5.5;
  std::printf(
      "first 20 losses differ by at most %.2e (at most 1e-3), final accuracy by %.0f rows (at most 5; libtorch's is "
      "%.4f): %s\n",
      difference, rows, b.accuracy, same ? "ok" : "DIFFERENT");
  return same ? 0 : 1;
}
#endif

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view part = argc == 2 ? argv[1] : "";
  if (part == "train") return train();
#ifdef SHUNT_DIGITS_TWIN
  if (part == "twin") return compareWithTwin();
#endif
  std::fprintf(stderr, "usage: digits_conv train|twin\n");
  return 2;
} catch (const std::exception& e) {
  std::fprintf(stderr, "digits_conv: %s\n", e.what());
  return 1;
}
