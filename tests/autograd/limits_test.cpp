// Functions at infinities, far out and where they have corners: values, gradients and second derivatives are the
// limits.
#include "tests/autograd/util.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shunt::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<ScalarType> kFloatingTypes = {kHalf, kBFloat16, kFloat, kDouble};

using Function = std::function<Tensor(const Tensor&)>;

struct Derivatives {
  Values value, first, second;
};

Derivatives derivativesOf(const Function& f, Tensor x) {
  x.requires_grad_();
  const Tensor y = f(x);
  const Tensor g = autograd::grad({y}, {x}, {ones_like(y)}, std::nullopt, true)[0];
  if (!g.requires_grad()) return {values(y), values(g), Values(static_cast<size_t>(x.numel()), 0)};
  const Tensor h = autograd::grad({g}, {x}, {ones_like(g)}, {}, false, true)[0];
  return {values(y), values(g), h.defined() ? values(h) : Values(static_cast<size_t>(x.numel()), 0)};
}

std::string shown(double x) { return std::to_string(x); }

void expectEqual(const Values& got, const Values& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ||
                std::abs(got[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i])))
        << "element " << i << ": got " << shown(got[i]) << " want " << shown(want[i]);
}

struct Point {
  double x, value, first, second;
};
struct ActivationCase {
  const char* name;
  Function f;
  std::vector<Point> points;
};

/// Of what is 0 on one side and x on the other.
std::vector<Point> linesFrom(std::initializer_list<double> far) {
  std::vector<Point> points;
  for (const double x : far) {
    points.push_back({x, x, 1, 0});
    points.push_back({-x, 0, 0, 0});
  }
  points.push_back({kNan, kNan, kNan, kNan});
  return points;
}
const auto kFarOut = {150.0, 3e4, 1e15, 2e20, 1e38, 1e200, kInf};

const std::vector<ActivationCase> kActivations = {
    {"gelu", [](const Tensor& x) { return gelu(x); }, linesFrom(kFarOut)},
    {"gelu by tanh", [](const Tensor& x) { return gelu(x, "tanh"); }, linesFrom(kFarOut)},
    {"silu", [](const Tensor& x) { return silu(x); }, linesFrom(kFarOut)},
    {"softplus without threshold", [](const Tensor& x) { return softplus(x, 1, kInf); }, linesFrom(kFarOut)},
    {"softplus, far threshold", [](const Tensor& x) { return softplus(x, 1, 5000); }, linesFrom(kFarOut)},
    {"softplus, beta 4", [](const Tensor& x) { return softplus(x, 4, 1e6); }, linesFrom(kFarOut)},
    {"softplus, beta 1/4", [](const Tensor& x) { return softplus(x, 0.25, kInf); },
     linesFrom({800.0, 3e4, 1e38, kInf})},
    {"erf",
     [](const Tensor& x) { return x.erf(); },
     {{1e4, 1, 0, 0}, {-1e30, -1, 0, 0}, {kInf, 1, 0, 0}, {-kInf, -1, 0, 0}}},
    {"tanh", [](const Tensor& x) { return x.tanh(); }, {{1e4, 1, 0, 0}, {kInf, 1, 0, 0}, {-kInf, -1, 0, 0}}},
    {"sigmoid", [](const Tensor& x) { return x.sigmoid(); }, {{1e4, 1, 0, 0}, {kInf, 1, 0, 0}, {-kInf, 0, 0, 0}}},
    {"elu", [](const Tensor& x) { return elu(x); }, {{1e4, 1e4, 1, 0}, {kInf, kInf, 1, 0}, {-kInf, -1, 0, 0}}},
    {"smooth_l1_loss, beta 0",
     [](const Tensor& x) { return smooth_l1_loss(x, zeros_like(x), 0, 0.0); },
     {{0, 0, 0, 0}, {-0.0, 0, 0, 0}, {2, 2, 1, 0}, {-2, 2, -1, 0}, {kInf, kInf, 1, 0}}},
    {"smooth_l1_loss, beta 1",
     [](const Tensor& x) { return smooth_l1_loss(x, zeros_like(x), 0, 1.0); },
     {{0, 0, 0, 1}, {0.5, 0.125, 0.5, 1}, {1, 0.5, 1, 0}, {-1, 0.5, -1, 0}, {-kInf, kInf, -1, 0}}},
    {"huber_loss",
     [](const Tensor& x) { return huber_loss(x, zeros_like(x), 0, 2.0); },
     {{0, 0, 0, 1}, {2, 2, 2, 0}, {-4, 6, -2, 0}, {kInf, kInf, 2, 0}}},
};

TEST(Limits, Activations) {
  for (const ActivationCase& c : kActivations)
    for (const ScalarType dtype : kFloatingTypes)
      for (const Point& p : c.points) {
        SCOPED_TRACE(detail::str(c.name, " at ", p.x, ' ', dtype));
        const Tensor x = tensorOf({p.x}).to(dtype);
        const double rounded = values(x)[0];  // maybe an infinity of the type
        const Derivatives got = derivativesOf(c.f, x);
        const bool line = std::abs(p.value) == std::abs(p.x) && std::abs(p.x) > 8;
        expectEqual(got.value, {line ? std::copysign(rounded, p.value) : p.value}, 2e-2);
        expectEqual(got.first, {p.first}, 1e-6);
        expectEqual(got.second, {p.second}, 1e-6);
      }
}

struct ReductionCase {
  const char* name;
  Function f;
  Values x;
  Derivatives want;
};
const std::vector<ReductionCase> kReductions = {
    {"logsumexp of nothing likely",
     [](const Tensor& x) { return x.logsumexp({0}); },
     {-kInf, -kInf},
     {{-kInf}, {0, 0}, {0, 0}}},
    {"logsumexp of one likely", [](const Tensor& x) { return x.logsumexp({0}); }, {-kInf, 1}, {{1}, {0, 1}, {0, 0}}},
    {"std of equals", [](const Tensor& x) { return x.std(); }, {7, 7, 7}, {{0}, {0, 0, 0}, {0, 0, 0}}},
    {"std.dim of equals",
     [](const Tensor& x) { return x.std(std::vector<int64_t>{0}); },
     {7, 7},
     {{0}, {0, 0}, {0, 0}}},
    {"std_mean of equals", [](const Tensor& x) { return std::get<0>(std_mean(x)); }, {0, 0}, {{0}, {0, 0}, {0, 0}}},
    {"var of one", [](const Tensor& x) { return x.var(); }, {5}, {{kNan}, {kNan}, {kNan}}},
    {"var.dim of one", [](const Tensor& x) { return x.var(std::vector<int64_t>{0}); }, {5}, {{kNan}, {kNan}, {kNan}}},
    {"std of one", [](const Tensor& x) { return x.std(); }, {5}, {{kNan}, {kNan}, {kNan}}},
    {"norm of zeros", [](const Tensor& x) { return x.norm(); }, {0, 0}, {{0}, {0, 0}, {0, 0}}},
    {"norm 3 of zeros", [](const Tensor& x) { return x.norm(3); }, {0, 0}, {{0}, {0, 0}, {0, 0}}},
    {"norm 2.5 with a zero", [](const Tensor& x) { return x.norm(2.5); }, {0, 2}, {{2}, {0, 1}, {0, 0}}},
    {"norm 1/2 of zeros", [](const Tensor& x) { return x.norm(0.5); }, {0, 0}, {{0}, {0, 0}, {0, 0}}},
    {"norm -1 with a zero", [](const Tensor& x) { return x.norm(-1); }, {0, 3}, {{0}, {0, 0}, {0, 0}}},
    {"prod with a zero", [](const Tensor& x) { return x.prod(); }, {0, 3, 2}, {{0}, {6, 0, 0}, {5, 2, 3}}},
    {"cumprod with zeros", [](const Tensor& x) { return x.cumprod(0); }, {0, 3, 0}, {{0, 0, 0}, {4, 0, 0}, {4, 1, 3}}},
};

TEST(Limits, Reductions) {
  for (const ReductionCase& c : kReductions)
    for (const ScalarType dtype : kFloatingTypes) {
      SCOPED_TRACE(detail::str(c.name, ' ', dtype));
      const Derivatives got = derivativesOf(c.f, tensorOf(c.x).to(dtype));
      expectEqual(got.value, c.want.value, 1e-6);
      expectEqual(got.first, c.want.first, 1e-6);
      expectEqual(got.second, c.want.second, 1e-6);
    }
}

// A gradient that is divided by how often a row is used; its own is not divided again.
TEST(Limits, EmbeddingDividesOnce) {
  for (const ScalarType dtype : kFloatingTypes) {
    Tensor weight = ones({3, 1}, TensorOptions(dtype)).requires_grad_();
    const Tensor at = tensor(std::vector<int64_t>{0, 0, 0, 0, 2}).to(kLong);
    const Tensor rows = embedding(weight, at, -1, true);
    const Tensor g = autograd::grad({rows.mul(rows).mul(0.5)}, {weight}, {ones_like(rows)}, std::nullopt, true)[0];
    EXPECT_EQ(values(g), (Values{1, 0, 1})) << dtype;
    EXPECT_EQ(values(autograd::grad({g}, {weight}, {ones_like(g)})[0]), (Values{1, 0, 1})) << dtype;
  }
}

// Only some counts have a reciprocal in bfloat16.
TEST(Limits, EmbeddingDividesInFloat) {
  Tensor weight = ones({1, 1}, TensorOptions(kBFloat16)).requires_grad_();
  embedding(weight, zeros({4095}, TensorOptions(kLong)), -1, true).sum().backward();
  EXPECT_EQ(values(weight.grad()), (Values{1}));
}

}  // namespace
}  // namespace shunt::test
