// A step of the digits examples (64-128-10 perceptron or convolutional network, SGD), on Shunt and on the examples'
// libtorch twins.
#include "bench/calls/cases.h"

#include "examples/digits_conv/net.h"

namespace bench {
namespace {

const digits::Data& data() {
  static const digits::Data loaded = digits::load(SHUNT_DIGITS_DATA);
  return loaded;
}

digits::Config configOf(const Case& c) { return {digits::OptimizerKind::kSGD, c.numel, c.mode == Mode::kAutocast}; }

class Step : public Call {
 public:
  explicit Step(std::unique_ptr<digits::Trainer> trainer) : trainer_(std::move(trainer)) {}
  void run() override { trainer_->step(); }

 private:
  std::unique_ptr<digits::Trainer> trainer_;
};

}  // namespace

std::unique_ptr<Call> makeShuntDigitsStep(const Case& c) {
  if (c.op == kDigitsConvStep) return std::make_unique<Step>(digits::makeShuntConvTrainer(data(), c.numel));
  return std::make_unique<Step>(digits::makeShuntTrainer(data(), configOf(c)));
}

#ifdef SHUNT_BENCH_TORCH
std::unique_ptr<Call> makeTorchDigitsStep(const Case& c) {
  if (c.op == kDigitsConvStep)
    return std::make_unique<Step>(digits::makeTorchConvTrainer(data(), c.numel, digits::initialConvWeights()));
  return std::make_unique<Step>(digits::makeTorchTrainer(data(), configOf(c), digits::initialParameters()));
}
#endif

}  // namespace bench
