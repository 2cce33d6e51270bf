// softmax and log_softmax, forward and backward, against double arithmetic.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"

#include <cmath>
#include <map>

namespace shunt::testing {
namespace {

struct Case {
  std::vector<int64_t> sizes;
  int64_t dim;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{}, 0},           {{1}, 0},        {{10}, 0},       {{32, 10}, 1},  {{32, 10}, 0},  {{3, 4, 5}, 1},
      {{3, 4, 5}, -1},   {{200, 16}, -1}, {{3, 1500}, -1}, {{2, 9000}, 1}, {{300, 80}, 0}, {{5, 7, 8}, 1},
      {{2, 40, 130}, 1}, {{9000, 2}, 0},  {{0, 3}, 1},     {{2, 0}, 1},    {{5, 1}, 1}};
  return list;
}

/// exp(x - max) / sum in double along a dimension; the logarithm of that if wanted.
std::vector<double> expected(const Tensor& t, int64_t dim, bool log) {
  struct Line {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  };
  std::map<std::vector<int64_t>, Line> lines;  // by the index with `dim` at 0
  std::vector<double> result;
  const auto d = static_cast<size_t>(dim < 0 ? dim + t.dim() : dim);
  forIndices(t.sizes(), [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> i = index;
    if (t.dim() > 0) i[d] = 0;
    const auto [it, is_new] = lines.try_emplace(i);
    Line& line = it->second;
    if (is_new) {
      const int64_t n = t.dim() == 0 ? 1 : t.sizes()[d];
      const auto at = [&](int64_t k) {
        if (t.dim() > 0) i[d] = k;
        return valueAt(t, i);
      };
      for (int64_t k = 0; k < n; ++k) line.largest = std::max(line.largest, at(k));
      for (int64_t k = 0; k < n; ++k) line.sum += std::exp(at(k) - line.largest);
    }
    const double x = valueAt(t, index) - line.largest - std::log(line.sum);
    result.push_back(log ? x : std::exp(x));
  });
  return result;
}

/// With one NaN for all.
std::string bytesOf(const Tensor& t) {
  const Tensor like = shunt::where(t == t, t, shunt::full_like(t, std::nan(""))).contiguous();
  return {static_cast<const char*>(like.data_ptr()), static_cast<size_t>(like.numel() * like.itemsize())};
}

TEST(Softmax, EqualsTheDefinition) {
  for (const ScalarType type : {kHalf, kBFloat16, kFloat, kDouble})
    for (const Case& c : cases())
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        const double tolerance = epsilonOf(type) + 16 * epsilonOf(type == kDouble ? kDouble : kFloat);
        EXPECT_TRUE(near(valuesOf(shunt::softmax(t, c.dim)), expected(t, c.dim, false), tolerance, 0.01))
            << type << t.sizes();
        EXPECT_TRUE(near(valuesOf(shunt::log_softmax(t, c.dim)), expected(t, c.dim, true), tolerance))
            << type << t.sizes();
      }
}

TEST(Softmax, BackwardEqualsTheDefinition) {
  for (const ScalarType type : {kBFloat16, kFloat, kDouble})
    for (const Case& c : cases()) {
      const Tensor t = randomTensor(c.sizes, type), grad = randomTensor(c.sizes, type, 7);
      const Tensor y = shunt::softmax(t, c.dim), log_y = shunt::log_softmax(t, c.dim);
      const std::vector<int64_t> dims = t.dim() == 0 ? std::vector<int64_t>() : std::vector<int64_t>{c.dim};
      const Tensor g = grad.to(kDouble), yd = y.to(kDouble), ld = log_y.to(kDouble);
      const Tensor soft = (g - (g * yd).sum(dims, true)) * yd;
      const Tensor logarithm = g - ld.exp() * g.sum(dims, true);
      const double tolerance = epsilonOf(type) + 64 * epsilonOf(type == kDouble ? kDouble : kFloat);
      EXPECT_TRUE(near(valuesOf(shunt::_softmax_backward_data(grad, y, c.dim, type)), valuesOf(soft), tolerance, 0.1))
          << t.sizes();
      EXPECT_TRUE(
          near(valuesOf(shunt::_log_softmax_backward_data(grad, log_y, c.dim, type)), valuesOf(logarithm), tolerance))
          << t.sizes();
    }
}

// Short rows are computed in groups. Zeros of both signs show another way to begin a sum.
TEST(Softmax, RowsTogetherHaveTheBitsOfRowsAlone) {
  const Tensor odd = shunt::tensor({0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-30, -1e-30});
  for (const ScalarType type : {kFloat, kDouble})
    for (const int64_t n : {1, 2, 7, 10, 16, 33, 64, 100, 127, 128, 129, 600, 1500})
      for (const int64_t rows : {2, 3, 65, 130}) {
        const Tensor x = shunt::randn({rows, n}).to(type), picks = shunt::randint(40, {rows, n}, TensorOptions(kLong));
        const Tensor special = odd.to(type).index_select(0, picks.clamp(0, 6).reshape({-1})).reshape({rows, n});
        const Tensor grad = shunt::where(picks < 7, special, shunt::randn({rows, n}).to(type));
        grad.select(0, 0).fill_(-0.0);
        for (const bool log : {false, true}) {
          const auto forward = [&](const Tensor& t) { return log ? shunt::log_softmax(t, 1) : shunt::softmax(t, 1); };
          const auto backward = [&](const Tensor& g, const Tensor& y) {
            return log ? shunt::_log_softmax_backward_data(g, y, 1, type)
                       : shunt::_softmax_backward_data(g, y, 1, type);
          };
          const Tensor y = forward(x), got = backward(grad, y);
          for (int64_t r = 0; r < rows; ++r) {
            ASSERT_EQ(bytesOf(y.narrow(0, r, 1)), bytesOf(forward(x.narrow(0, r, 1)))) << type << n << log;
            ASSERT_EQ(bytesOf(got.narrow(0, r, 1)), bytesOf(backward(grad.narrow(0, r, 1), y.narrow(0, r, 1))))
                << type << ' ' << rows << 'x' << n << " log " << log << " row " << r;
          }
        }
      }
}

TEST(Softmax, HandlesExtremeInputs) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(valuesOf(shunt::softmax(shunt::tensor({1000., 1000.}), 0)), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(valuesOf(shunt::softmax(shunt::tensor({-inf, 0.}), 0)), (std::vector<double>{0, 1}));
  for (const double v : valuesOf(shunt::softmax(shunt::tensor({std::nan(""), 0.}), 0))) EXPECT_TRUE(std::isnan(v));
  for (const double v : valuesOf(shunt::log_softmax(shunt::tensor({-inf, -inf}), 0))) EXPECT_TRUE(std::isnan(v));
}

TEST(Softmax, ConvertsFirstWhenAskedTo) {
  EXPECT_EQ(shunt::softmax(shunt::tensor({1, 2}), 0, kDouble).dtype(), kDouble);
  EXPECT_THAT(errorOf([] { shunt::softmax(shunt::tensor({1, 2}), 0); }),
              ::testing::StartsWith("\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"));
  EXPECT_THAT(errorOf([] { shunt::_softmax(shunt::tensor({1.}), 0, true); }),
              ::testing::StartsWith("softmax with half to float conversion is not supported on CPU"));
  EXPECT_THAT(errorOf([] { shunt::softmax(shunt::tensor({1.}), 1); }),
              ::testing::StartsWith("Dimension out of range (expected to be in range of [-1, 0], but got 1)"));
}

}  // namespace
}  // namespace shunt::testing
