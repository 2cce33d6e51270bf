#include "bench/programs/workloads.h"

#include "examples/digits/model.h"
#include "examples/digits/training.h"
#include "examples/digits_conv/net.h"

#include <shunt/shunt.h>

namespace bench {
namespace {

using namespace shunt;

/// Steps of the digits example, by SGD.
void train(int64_t steps) {
  const digits::Data data = digits::load(SHUNT_DIGITS_DATA);
  const auto trainer = digits::makeShuntTrainer(data, {digits::OptimizerKind::kSGD, 8, false});
  for (int64_t i = 0; i < steps; ++i) trainer->step();
}

void trainAdam(int64_t steps) {
  const digits::Data data = digits::load(SHUNT_DIGITS_DATA);
  const auto trainer = digits::makeShuntTrainer(data, {digits::OptimizerKind::kAdam, 32, false});
  for (int64_t i = 0; i < steps; ++i) trainer->step();
}

/// The same by a compiled function of a batch.
void trainCompiled(int64_t steps) {
  constexpr int64_t kBatch = 8;
  const digits::Data data = digits::load(SHUNT_DIGITS_DATA);
  const Tensor images = tensor(data.images).view({digits::kRows, digits::kPixels}), labels = tensor(data.labels);
  digits::Net net(1);
  digits::SGD optimizer(net.parameters(), 0.05);
  const auto step = compile([&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t first = i * kBatch % (digits::kTrainRows - kBatch);
    step(images.narrow(0, first, kBatch), labels.narrow(0, first, kBatch));
  }
}

void trainConv(int64_t steps) {
  const digits::Data data = digits::load(SHUNT_DIGITS_DATA);
  const auto trainer = digits::makeShuntConvTrainer(data, 8);
  for (int64_t i = 0; i < steps; ++i) trainer->step();
}

/// A recurrence of small operators: what calls cost is all of its time.
void smallOperators(int64_t steps) {
  const NoGradGuard no_grad;
  const Tensor a = full({16}, 0.5), b = full({16}, 0.25);
  Tensor x = zeros({16});
  for (int64_t i = 0; i < steps; ++i) x = mul(add(x, b), a).relu().sub(b);
  if (!(x.sum().item<float>() < 1)) throw Error("a wrong sum");
}

/// Products, whose time is in their library.
void products(int64_t steps) {
  const NoGradGuard no_grad;
  const Tensor a = eye(16), b = full({16, 16}, 0.5);
  Tensor x = b;
  for (int64_t i = 0; i < steps; ++i) x = mm(a, x);
}

/// Large operands: the loops' time.
void largeOperators(int64_t steps) {
  const NoGradGuard no_grad;
  const Tensor a = rand({1 << 14}), b = rand({1 << 14});
  Tensor x = a;
  for (int64_t i = 0; i < steps; ++i) x = sigmoid(add(mul(x, a), b));
}

/// Each of many pairs a few hundred times: as many as get hot, and hardly any that pays.
void manyPairs(int64_t rounds) {
  const ScalarType dtypes[] = {kFloat, kDouble, kHalf, kBFloat16, kInt, kLong};
  for (int64_t i = 0; i < rounds; ++i)
    for (const ScalarType left : dtypes)
      for (const ScalarType right : dtypes) {
        const Tensor a = ones({8}, TensorOptions(left)), b = ones({8}, TensorOptions(right));
        a.add(b).mul(a).sub(b).gt(a).sum();
      }
}

struct Workload {
  const char* name;
  void (*run)(int64_t amount);
};

constexpr Workload kWorkloads[] = {
    {"train", &train},          {"adam", &trainAdam},    {"train_compiled", &trainCompiled}, {"conv", &trainConv},
    {"small", &smallOperators}, {"products", &products}, {"large", &largeOperators},         {"many_pairs", &manyPairs},
};

}  // namespace

bool runWorkload(const std::string& name, int64_t amount) {
  for (const Workload& w : kWorkloads) {
    if (name != w.name) continue;
    w.run(amount);
    return true;
  }
  return false;
}

}  // namespace bench
