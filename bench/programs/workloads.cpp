#include "bench/programs/workloads.h"

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
    {"train", &train},       {"adam", &trainAdam},       {"conv", &trainConv},       {"small", &smallOperators},
    {"products", &products}, {"large", &largeOperators}, {"many_pairs", &manyPairs},
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
