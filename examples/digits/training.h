// Training runs: what is run (Config), what comes out (Result), on Shunt and, where it is found, on a libtorch twin.
#pragma once

#include "examples/digits/data.h"

#include <memory>
#include <string>
#include <vector>

namespace digits {

enum class OptimizerKind { kSGD, kMomentum, kAdam };

struct Config {
  OptimizerKind optimizer = OptimizerKind::kSGD;
  int64_t batch = 32;
  bool autocast = false;  // forward and loss under bf16 autocast
};

std::string describe(const Config& config);
/// Chosen per optimiser and batch so that every configuration learns; both runtimes use it.
double learningRate(const Config& config);

struct Result {
  std::vector<double> losses;      // of every step
  std::vector<double> step_times;  // microseconds, mean of each epoch
  double operators_per_step = 0;   // calls through the dispatcher; 0 where it is not known
  double accuracy = 0;             // on the 297 test rows
  double inference_time = 0;       // microseconds, median forward pass of one batch under no_grad
  double inference_operators = 0;
};

/// One training run, epoch by epoch, so that two runtimes can take turns.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual void epoch(int number) = 0;
  /// One step on the next rows in the file's order, not recorded: for timing.
  virtual void step() = 0;
  /// Evaluates; call once, after the last epoch.
  virtual Result finish() = 0;
};

/// The initial parameters (w1, b1, w2, b2, flattened one after another), so that a twin starts from the same.
std::vector<float> initialParameters();

std::unique_ptr<Trainer> makeShuntTrainer(const Data& data, const Config& config);
/// twin_torch.cpp, only where libtorch is found. One thread.
std::unique_ptr<Trainer> makeTorchTrainer(const Data& data, const Config& config, const std::vector<float>& initial);

/// The first row of the next batch, starting over where the training rows end; advances `next_row`.
int64_t nextBatch(int64_t& next_row, int64_t batch);

double medianOf(std::vector<double> values);
/// Median microseconds of one call of `forward`, over 31 rounds of 50 calls.
double medianMicroseconds(void (*forward)(void*), void* context);

}  // namespace digits
