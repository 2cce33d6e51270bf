// Means of more elements than a 16-bit type can count: gradients and second derivatives against those in double.
#include "tests/shape/util.h"

#include <shunt/autograd/autograd.h>

#include <limits>

namespace shunt::testing {
namespace {

using Function = std::function<Tensor(const Tensor&)>;
using Shape = std::vector<int64_t>;

/// Functions of n numbers whose gradients have the size 1 / n before they are multiplied.
struct MeanCase {
  const char* name;
  Function f;
  bool second = false;  // its second derivative isn't 0
};

Tensor targetsOf(int64_t n, int64_t target) { return shunt::full({n}, target, TensorOptions(kLong)); }
Tensor twoClasses(const Tensor& x) { return shunt::stack({x, x.detach()}, 1); }
Tensor nothing(const Tensor& x) { return zeros_like(x.detach()); }
Tensor plane(const Tensor& x) { return x.reshape({1, 1, 1, x.size(0)}); }

const std::vector<MeanCase> kMeans = {
    {"mean", [](const Tensor& x) { return x.mean(); }},
    {"mean of squares", [](const Tensor& x) { return x.square().mean(); }, true},
    {"mean.dim", [](const Tensor& x) { return x.mean(Shape{0}); }},
    {"mean to float", [](const Tensor& x) { return x.mean(kFloat); }},
    {"var", [](const Tensor& x) { return x.mul(x).var(); }, true},
    {"var_mean", [](const Tensor& x) { return std::get<1>(var_mean(x)) + std::get<0>(var_mean(x.mul(x))); }, true},
    {"std", [](const Tensor& x) { return x.mul(x).std(); }, true},
    {"amax of equals", [](const Tensor& x) { return (x * 0 + x.detach()).amax() * 0 + (x - x.detach()).amax(); }},
    {"max of equals", [](const Tensor& x) { return (x - x.detach()).max(); }},
    {"norm of infinity",
     [](const Tensor& x) { return (x - x.detach() + 1).norm(std::numeric_limits<double>::infinity()); }},
    {"l1_loss", [](const Tensor& x) { return l1_loss(x, nothing(x)); }},
    {"mse_loss", [](const Tensor& x) { return mse_loss(x, nothing(x)); }, true},
    {"smooth_l1_loss", [](const Tensor& x) { return smooth_l1_loss(x, nothing(x), 1, 4.0); }, true},
    {"huber_loss", [](const Tensor& x) { return huber_loss(x, nothing(x), 1, 4.0); }, true},
    {"bce with logits", [](const Tensor& x) { return binary_cross_entropy_with_logits(x, nothing(x)); }, true},
    {"nll_loss", [](const Tensor& x) { return nll_loss(twoClasses(x), targetsOf(x.size(0), 0)); }},
    {"nll_loss with weights",
     [](const Tensor& x) { return nll_loss(twoClasses(x), targetsOf(x.size(0), 0), full({2}, 1.5, x.options())); }},
    {"nll_loss of positions",
     [](const Tensor& x) { return nll_loss_nd(twoClasses(x).t().unsqueeze(0), targetsOf(x.size(0), 0).unsqueeze(0)); }},
    {"cross_entropy", [](const Tensor& x) { return cross_entropy_loss(twoClasses(x), targetsOf(x.size(0), 1)); }, true},
    {"cross_entropy, smoothed",
     [](const Tensor& x) { return cross_entropy_loss(twoClasses(x), targetsOf(x.size(0), 1), {}, 1, -100, 0.25); }},
    {"cross_entropy of probabilities",
     [](const Tensor& x) {
       return cross_entropy_loss(twoClasses(x), shunt::stack({ones_like(x), nothing(x)}, 1).detach());
     }},
    {"avg_pool2d", [](const Tensor& x) { return avg_pool2d(plane(x), {1, x.size(0)}).sum(); }},
    {"adaptive_avg_pool2d to one", [](const Tensor& x) { return adaptive_avg_pool2d(plane(x), {1, 1}).sum(); }},
    {"adaptive_avg_pool2d", [](const Tensor& x) { return adaptive_avg_pool2d(plane(x), {2, 1}).sum(); }},
    {"scatter_reduce",
     [](const Tensor& x) {
       return zeros({1}, x.options()).scatter_reduce(0, targetsOf(x.size(0), 0), x, "mean", false).sum();
     }},
    {"by a view that repeats", [](const Tensor& x) { return x.reshape({1, -1}).expand({3, -1}).mean(); }},
};

/// Elements of about 1 and 2 that all types have.
Tensor inputOf(int64_t n, ScalarType dtype) {
  return iota({n}, kDouble).remainder(2).add(1).to(dtype).requires_grad_();
}

/// Gradients of 1000 f, and of the sum of their squares.
std::vector<Tensor> derivatives(const MeanCase& c, const Tensor& x) {
  const Tensor y = c.f(x);
  const Tensor first = autograd::grad({y}, {x}, {full_like(y, 1000)}, std::nullopt, c.second)[0];
  if (!c.second) return {first};
  return {first, autograd::grad({first}, {x}, {ones_like(first)})[0]};
}

void expectNear(const Tensor& got, const Tensor& want, double tolerance) {
  const Tensor error = (got.to(kDouble) - want).abs();
  const Tensor bound = want.abs() * tolerance + 3e-7;  // half's smallest numbers are steps of 6e-8
  EXPECT_TRUE(error.le(bound).all().item<bool>()) << "got " << valuesOf(got)[0] << " want " << valuesOf(want)[0];
}

TEST(Counts, MeansOfManyElements) {
  for (const ScalarType dtype : {kHalf, kBFloat16})
    for (const int64_t n : {257, 65505, 70001})
      for (const MeanCase& c : kMeans) {
        SCOPED_TRACE(detail::str(c.name, " of ", n, ' ', dtype));
        const std::vector<Tensor> want = derivatives(c, inputOf(n, kDouble)), got = derivatives(c, inputOf(n, dtype));
        for (size_t i = 0; i < want.size(); ++i) expectNear(got[i], want[i], dtype == kHalf ? 8e-3 : 1.6e-2);
      }
}

// bfloat16 has no 257: a count that is rounded shows as a gradient of the next number.
TEST(Counts, AreNotRounded) {
  const double each = valuesOf(tensor({1000.0 / 257}).to(kBFloat16))[0];
  for (const MeanCase& c : kMeans) {
    const std::string name = c.name;
    if (name != "mean" && name != "mean.dim" && name != "l1_loss" && name != "nll_loss" && name != "max of equals" &&
        name != "scatter_reduce" && name != "adaptive_avg_pool2d to one" && name != "norm of infinity")
      continue;
    const double got = valuesOf(derivatives(c, inputOf(257, kBFloat16))[0])[0];
    EXPECT_EQ(std::abs(got), each) << name;
  }
}

TEST(Counts, UnderAutocast) {
  const AutocastGuard autocast(kCPU, kHalf);
  Tensor x = ones({70001, 1}).requires_grad_();
  linear(x, ones({1, 1})).mean().mul(1000).backward();
  EXPECT_NEAR(valuesOf(x.grad())[0], 1000.0 / 70001, 1e-4);
}

TEST(Counts, OfMeansOfSmallIntegers) {
  const Tensor at = zeros({300}, TensorOptions(kLong));
  for (const ScalarType dtype : {kChar, kByte, kShort, kInt, kLong}) {
    const Tensor many = full({300}, 100, TensorOptions(dtype));
    EXPECT_EQ(valuesOf(zeros({1}, TensorOptions(dtype)).scatter_reduce(0, at, many, "mean", false))[0], 100) << dtype;
  }
}

}  // namespace
}  // namespace shunt::testing
