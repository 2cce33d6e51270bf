// Trains a 64-128-10 perceptron on the UCI digits in several configurations and prints accuracy and times.
//
//   digits [--data digits.csv.gz] [--epochs 20] [--reference] [--check] [--memory]
//   digits [--data digits.csv.gz] [--epochs 20] --save weights.safetensors
//   digits [--data digits.csv.gz] --load weights.safetensors
//
// Where libtorch was found when this was built, a twin with the same initial weights and batches takes turns with it,
// epoch by epoch; --check exits with 1 when the reference configuration's accuracy is below 0.90 or the twins disagree.
// --reference runs that configuration alone.
// --save trains the reference configuration and saves its weights; --load reads them and predicts the test rows, the
// same.
// --memory prints nothing but the peak of anonymous memory, without the twin; --check then holds it below 64 MiB.
#include "examples/digits/memory.h"
#include "examples/digits/training.h"
#include "examples/digits/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

namespace {

using namespace digits;

struct Options {
  std::string data = SHUNT_DIGITS_DATA;
  int epochs = 20;
  bool reference = false;
  bool check = false;
  bool memory = false;
  std::string save, load;
};

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--check")
      out.check = true;
    else if (arg == "--reference")
      out.reference = true;
    else if (arg == "--memory")
      out.memory = true;
    else if (arg == "--data" && i + 1 < argc)
      out.data = argv[++i];
    else if (arg == "--save" && i + 1 < argc)
      out.save = argv[++i];
    else if (arg == "--load" && i + 1 < argc)
      out.load = argv[++i];
    else if (arg == "--epochs" && i + 1 < argc && std::atoi(argv[i + 1]) > 0)
      out.epochs = std::atoi(argv[++i]);
    else
      throw std::runtime_error(
          "unknown or incomplete argument '" + arg +
          "'; usage: digits [--data FILE] [--epochs N] [--reference] [--check] [--memory] [--save FILE] [--load FILE]");
  }
  return out;
}

struct Pair {
  Result mine;
  std::optional<Result> twin;
};

Pair run(const Data& data, const Config& config, int epochs) {
  auto mine = makeShuntTrainer(data, config);
  std::unique_ptr<Trainer> twin;
#ifdef SHUNT_DIGITS_TWIN
  twin = makeTorchTrainer(data, config, initialParameters());
#endif
  for (int e = 0; e < epochs; ++e) {
    mine->epoch(e);
    if (twin) twin->epoch(e);
  }
  Pair out{mine->finish(), std::nullopt};
  if (twin) out.twin = twin->finish();
  return out;
}

double medianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return medianOf(ratios);
}

void printRow(const Config& config, const Pair& p) {
  const double step = medianOf(p.mine.step_times);
  std::printf("%-22s %8.3f %9.2f %5.0f %8.3f %9.2f %5.0f %8.3f", describe(config).c_str(), p.mine.accuracy, step,
              p.mine.operators_per_step, step / p.mine.operators_per_step, p.mine.inference_time,
              p.mine.inference_operators, p.mine.inference_time / p.mine.inference_operators);
  if (p.twin)
    std::printf(" | %8.3f %9.2f %6.2f %9.2f %6.2f", p.twin->accuracy, medianOf(p.twin->step_times),
                medianRatio(p.mine.step_times, p.twin->step_times), p.twin->inference_time,
                p.mine.inference_time / p.twin->inference_time);
  std::printf("\n");
  std::fflush(stdout);
}

void printHeader() {
  std::printf(
      "UCI digits, 64-128-10 perceptron; times in microseconds, medians over epochs; us/op = time per operator call\n");
  std::printf("%-22s %8s %9s %5s %8s %9s %5s %8s", "configuration", "accuracy", "us/step", "ops", "us/op", "us/infer",
              "ops", "us/op");
#ifdef SHUNT_DIGITS_TWIN
  std::printf(" | %8s %9s %6s %9s %6s", "libtorch", "us/step", "ratio", "us/infer", "ratio");
#endif
  std::printf("\n");
}

double largestLossDifference(const Pair& p, size_t steps) {
  double worst = 0;
  for (size_t i = 0; i < std::min(steps, p.mine.losses.size()); ++i)
    worst = std::max(worst, std::abs(p.mine.losses[i] - p.twin->losses[i]));
  return worst;
}

// Judges the reference configuration. Returns whether all holds.
bool judge(const Pair& reference) {
  bool good = reference.mine.accuracy >= 0.90;
  std::printf("reference accuracy %.4f (at least 0.90): %s\n", reference.mine.accuracy, good ? "ok" : "TOO LOW");
  if (reference.twin) {
    const double difference = largestLossDifference(reference, 100);
    const double rows =
        std::abs(reference.mine.accuracy - reference.twin->accuracy) * static_cast<double>(kRows - kTrainRows);
    const bool same = difference <= 1e-4 && rows <= 3.5;
    std::printf(
        "against libtorch: first 100 losses differ by at most %.2e (at most 1e-4), final accuracy by %.0f rows (at "
        "most 3): %s\n",
        difference, rows, same ? "ok" : "DIFFERENT");
    good = good && same;
  }
  return good;
}

std::vector<Config> configurations() {
  std::vector<Config> out;
  for (const bool autocast : {false, true})
    for (const auto optimizer : {OptimizerKind::kSGD, OptimizerKind::kMomentum, OptimizerKind::kAdam})
      for (const int64_t batch : {32, 8, 1}) out.push_back({optimizer, batch, autocast});
  return out;
}

int runAll(const Options& options) {
  const Data data = load(options.data);
  printHeader();
  bool good = false;
  for (const Config& config : configurations()) {
    const bool is_reference = config.optimizer == OptimizerKind::kSGD && config.batch == 32 && !config.autocast;
    if (options.reference && !is_reference) continue;
    const Pair result = run(data, config, options.epochs);
    printRow(config, result);
    if (is_reference) good = judge(result);
  }
  return options.check && !good ? 1 : 0;
}

int measureMemory(const Options& options) {
  constexpr double kLimit = 64;
  const double start = anonymousMemory();
  double peak = start;
  const Data data = load(options.data);
  for (const Config& config : configurations()) {
    const auto trainer = makeShuntTrainer(data, config);
    for (int e = 0; e < options.epochs; ++e) {
      trainer->epoch(e);
      peak = std::max(peak, anonymousMemory());
    }
    trainer->finish();
    peak = std::max(peak, anonymousMemory());
  }
  const bool good = peak - start <= kLimit;
  std::printf("anonymous memory: %.1f MiB at the start, at most %.1f MiB above it (at most %.0f): %s\n", start,
              peak - start, kLimit, good ? "ok" : "TOO MUCH");
  return options.check && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (!options.save.empty()) trainAndSave(load(options.data), options.epochs, options.save);
    if (!options.load.empty()) loadAndPredict(load(options.data), options.load);
    if (!options.save.empty() || !options.load.empty()) return 0;
    return options.memory ? measureMemory(options) : runAll(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 2;
  }
}
