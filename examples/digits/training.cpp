#include "examples/digits/training.h"

#include "examples/digits/model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

namespace digits {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kSeed = 7;

std::unique_ptr<Optimizer> makeOptimizer(const Config& config, const Net& net) {
  const double lr = learningRate(config);
  switch (config.optimizer) {
    case OptimizerKind::kSGD:
      return std::make_unique<SGD>(net.parameters(), lr);
    case OptimizerKind::kMomentum:
      return std::make_unique<SGD>(net.parameters(), lr, 0.9);
    case OptimizerKind::kAdam:
      return std::make_unique<Adam>(net.parameters(), lr);
  }
  return nullptr;
}

Tensor lossOf(const Net& net, const Tensor& x, const Tensor& y, bool autocast) {
  std::optional<shunt::AutocastGuard> guard;
  if (autocast) guard.emplace(shunt::kCPU, shunt::kBFloat16);
  return shunt::cross_entropy_loss(net.forward(x), y);
}

double trainStep(const Net& net, Optimizer& optimizer, const Tensor& x, const Tensor& y, bool autocast) {
  optimizer.zero_grad();
  Tensor loss = lossOf(net, x, y, autocast);
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

std::atomic<int64_t> operator_calls{0};

void countCall(const shunt::TraceStep& step) {
  if (std::string_view(step.kind).starts_with("call")) operator_calls.fetch_add(1, std::memory_order_relaxed);
}

// How many operators `f` calls, its own and those that they call.
template <class F>
double countOperators(F&& f) {
  operator_calls = 0;
  shunt::set_trace(true, &countCall);
  f();
  shunt::set_trace(false);
  return static_cast<double>(operator_calls.load());
}

class ShuntTrainer : public Trainer {
 public:
  ShuntTrainer(const Data& data, const Config& config)
      : config_(config), net_(kSeed), optimizer_(makeOptimizer(config, net_)) {
    // Operators don't write to these.
    images_ = shunt::from_blob(const_cast<float*>(data.images.data()), {kRows, kPixels}, shunt::kFloat);
    labels_ = shunt::from_blob(const_cast<int64_t*>(data.labels.data()), {kRows}, shunt::kLong);
  }

  void epoch(int number) override {
    std::vector<int64_t> rows = shuffledRows(number);
    const Tensor order = shunt::from_blob(rows.data(), {kTrainRows}, shunt::kLong);
    const Tensor x = images_.index_select(0, order), y = labels_.index_select(0, order);
    const int64_t steps = kTrainRows / config_.batch;
    const auto start = Clock::now();
    for (int64_t s = 0; s < steps; ++s) {
      const int64_t first = s * config_.batch;
      result_.losses.push_back(trainStep(net_, *optimizer_, x.narrow(0, first, config_.batch),
                                         y.narrow(0, first, config_.batch), config_.autocast));
    }
    result_.step_times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                                 static_cast<double>(steps));
  }

  void step() override {
    const int64_t first = nextBatch(next_row_, config_.batch);
    trainStep(net_, *optimizer_, images_.narrow(0, first, config_.batch), labels_.narrow(0, first, config_.batch),
              config_.autocast);
  }

  Result finish() override {
    evaluate();
    countStep();
    return result_;
  }

 private:
  void evaluate() {
    shunt::NoGradGuard no_grad;
    std::optional<shunt::AutocastGuard> guard;
    if (config_.autocast) guard.emplace(shunt::kCPU, shunt::kBFloat16);
    const int64_t tests = kRows - kTrainRows;
    const Tensor guess = net_.forward(images_.narrow(0, kTrainRows, tests)).argmax(1);
    result_.accuracy = guess.eq(labels_.narrow(0, kTrainRows, tests)).sum().item<double>() / static_cast<double>(tests);

    batch_ = images_.narrow(0, 0, config_.batch);
    result_.inference_operators = countOperators([&] { net_.forward(batch_); });
    result_.inference_time = medianMicroseconds(
        [](void* self) {
          auto* trainer = static_cast<ShuntTrainer*>(self);
          trainer->net_.forward(trainer->batch_);
        },
        this);
  }

  // The training is over, so one more step may be spent on counting.
  void countStep() {
    const Tensor x = images_.narrow(0, 0, config_.batch), y = labels_.narrow(0, 0, config_.batch);
    result_.operators_per_step = countOperators([&] { trainStep(net_, *optimizer_, x, y, config_.autocast); });
  }

  Config config_;
  Net net_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor images_, labels_, batch_;
  int64_t next_row_ = 0;
  Result result_;
};

}  // namespace

std::string describe(const Config& config) {
  const char* name = config.optimizer == OptimizerKind::kSGD        ? "SGD"
                     : config.optimizer == OptimizerKind::kMomentum ? "momentum"
                                                                    : "Adam";
  return std::string(name) + ", batch " + std::to_string(config.batch) + (config.autocast ? ", bf16" : "");
}

double learningRate(const Config& config) {
  const bool large = config.batch > 8, single = config.batch == 1;
  switch (config.optimizer) {
    case OptimizerKind::kSGD:
      return large ? 0.2 : single ? 0.02 : 0.1;
    case OptimizerKind::kMomentum:
      return large ? 0.05 : single ? 0.002 : 0.02;
    case OptimizerKind::kAdam:
      return large ? 2e-3 : single ? 2e-4 : 1e-3;
  }
  return 0;
}

int64_t nextBatch(int64_t& next_row, int64_t batch) {
  const int64_t first = next_row + batch <= kTrainRows ? next_row : 0;
  next_row = first + batch;
  return first;
}

double medianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double medianMicroseconds(void (*forward)(void*), void* context) {
  constexpr int kRounds = 31, kRepeat = 50;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kRepeat; ++i) forward(context);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kRepeat);
  }
  return medianOf(times);
}

std::vector<float> initialParameters() {
  const Net net(kSeed);
  std::vector<float> out;
  for (const Tensor& p : net.parameters()) {
    const float* data = p.data_ptr<float>();
    out.insert(out.end(), data, data + p.numel());
  }
  return out;
}

std::unique_ptr<Trainer> makeShuntTrainer(const Data& data, const Config& config) {
  return std::make_unique<ShuntTrainer>(data, config);
}

}  // namespace digits
