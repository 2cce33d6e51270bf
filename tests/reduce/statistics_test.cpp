// Variances, logarithms of sums, norms, scans and trace against double arithmetic, and where they are not numbers.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"

namespace shunt::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<ScalarType> kFloatingTypes = {kHalf, kBFloat16, kFloat, kDouble};

struct ShapeCase {
  std::vector<int64_t> sizes, dims;  // no dims: all
};
const std::vector<ShapeCase> kShapes = {
    {{}, {}},         {{7}, {}},        {{65}, {0}},      {{5000}, {}},        {{32, 10}, {0}},
    {{32, 10}, {-1}}, {{3, 1, 5}, {1}}, {{3, 4, 5}, {1}}, {{3, 4, 5}, {0, 2}}, {{2, 3, 4, 5}, {1, 3}},
    {{600, 17}, {0}}, {{9, 600}, {0}},  {{9, 600}, {1}},  {{9000, 3}, {0}},    {{60000}, {0}}};

std::vector<double> plus(const Tensor& t, const std::vector<int64_t>& dims, const std::function<double(double)>& term) {
  return reducedBy(t, dims, 0, [&](double sum, double x) { return sum + term(x); });
}

int64_t countOf(const Tensor& t, const Tensor& result) { return result.numel() == 0 ? 0 : t.numel() / result.numel(); }

/// The reference adds up one after the other.
double toleranceOf(ScalarType type) { return type == kDouble ? 1e-12 : 300 * epsilonOf(kFloat); }

/// Calls f(tensor, dims, tolerance) for every type, shape and layout.
void forTensors(const std::function<void(const Tensor&, const std::vector<int64_t>&, double)>& f) {
  for (const ScalarType type : kFloatingTypes)
    for (const ShapeCase& c : kShapes)
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        SCOPED_TRACE(detail::str(t.dtype(), " ", t.sizes(), " strides ", t.strides(), " dims ", IntArrayRef(c.dims)));
        f(t, c.dims, type == kHalf || type == kBFloat16 ? 2 * epsilonOf(type) : toleranceOf(type));
      }
}

// In two passes: the mean, then the squares of what is left.
TEST(Variance, EqualsTwoPassesInDouble) {
  forTensors([](const Tensor& t, const std::vector<int64_t>& dims, double tolerance) {
    const auto [v, m] = shunt::var_mean(t, IntArrayRef(dims), std::optional<int64_t>(0), false);
    const auto n = static_cast<double>(countOf(t, v));
    std::vector<double> mean = plus(t, dims, [](double x) { return x; });
    for (double& x : mean) x /= n;
    EXPECT_TRUE(near(valuesOf(m), mean, tolerance));
    std::vector<double> expected = plus(t, dims, [](double x) { return x * x; });
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = expected[i] / n - mean[i] * mean[i];
    EXPECT_TRUE(near(valuesOf(v), expected, tolerance));
    for (double& x : expected) x = std::sqrt(std::max(0.0, x));
    EXPECT_TRUE(near(valuesOf(shunt::std(t, IntArrayRef(dims), std::optional<int64_t>(0), false)), expected,
                     std::max(tolerance, 1e-7)));
  });
}

// What is lost where the sum of squares is taken less the square of the sum.
TEST(Variance, KeepsWhatIsSmallBesideTheMean) {
  for (const int64_t n : {200, 5000, 40000}) {
    Tensor t = shunt::empty({n}, TensorOptions(kFloat));
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(t.data_ptr())[i] = i % 2 == 0 ? 1e6f : 1e6f + 1;
    EXPECT_FLOAT_EQ(t.var(false).item<float>(), 0.25f);
    EXPECT_FLOAT_EQ(t.view({n / 20, 20}).var({0}, false)[0].item<float>(), 0.0f);
    EXPECT_FLOAT_EQ(t.view({20, n / 20}).t().contiguous().var({0}, false)[1].item<float>(), 0.25f);
    // Three times 0.1 is not 0.3; the gradient of a deviation that isn't 0 would be of any size.
    for (const Tensor& same :
         {shunt::full({n}, 0.1, TensorOptions(kDouble)), shunt::full({3}, 0.1, TensorOptions(kDouble))}) {
      EXPECT_EQ(same.std().item<double>(), 0);
      EXPECT_EQ(same.unsqueeze(1).expand({same.numel(), 9}).contiguous().std({0}, true)[2].item<double>(), 0);
    }
  }
}

TEST(Variance, HasItsCorrection) {
  const Tensor t = shunt::arange(5, TensorOptions(kDouble));
  EXPECT_EQ(t.var().item<double>(), 2.5);
  EXPECT_EQ(t.var(false).item<double>(), 2);
  EXPECT_EQ(t.var({0}, std::optional<int64_t>(3)).item<double>(), 5);
  EXPECT_EQ(t.var({0}, std::nullopt).item<double>(), 2.5);
  EXPECT_EQ(t.var({0}, std::optional<int64_t>(5)).item<double>(), kInf);
  EXPECT_TRUE(std::isnan(t.narrow(0, 0, 1).var().item<double>()));
  EXPECT_TRUE(std::isnan(t.narrow(0, 0, 0).var().item<double>()));
  EXPECT_THAT(errorOf([&] { t.to(kLong).var(); }), HasSubstr("only support floating point"));
}

TEST(LogSumExp, EqualsItsFormula) {
  forTensors([](const Tensor& t, const std::vector<int64_t>& dims, double tolerance) {
    std::vector<double> expected = plus(t, dims, [](double x) { return std::exp(x); });
    for (double& x : expected) x = std::log(x);
    EXPECT_TRUE(near(valuesOf(t.logsumexp(dims)), expected, tolerance));
    // A shift beyond the range of exp, in the columns' and in the rows' order.
    if (t.scalar_type() != kDouble) return;
    for (double& x : expected) x += 2000;
    EXPECT_TRUE(near(valuesOf(t.add(2000).logsumexp(dims)), expected, 1e-12));
  });
}

TEST(LogSumExp, OfInfinities) {
  const auto of = [](std::vector<double> values) {
    Tensor t = shunt::empty({static_cast<int64_t>(values.size())}, TensorOptions(kDouble));
    std::copy(values.begin(), values.end(), static_cast<double*>(t.data_ptr()));
    const double along = t.logsumexp({0}).item<double>();
    const double across = t.unsqueeze(1).expand({t.numel(), 9}).contiguous().logsumexp({0})[3].item<double>();
    EXPECT_TRUE(along == across || (std::isnan(along) && std::isnan(across))) << along << " and " << across;
    return along;
  };
  EXPECT_EQ(of({-kInf, -kInf}), -kInf);
  EXPECT_EQ(of({kInf, 1}), kInf);
  EXPECT_EQ(of({-kInf, -1000}), -1000);
  EXPECT_TRUE(std::isnan(of({1, std::nan("")})));
  EXPECT_EQ(of({}), -kInf);
  // Over the borders of blocks, of which one has infinities only.
  std::vector<double> blocks(10000, -kInf);
  blocks[9000] = -900;
  EXPECT_EQ(of(blocks), -900);
  blocks[100] = kInf;
  EXPECT_EQ(of(blocks), kInf);
}

TEST(Norm, EqualsItsFormula) {
  forTensors([](const Tensor& t, const std::vector<int64_t>& dims, double tolerance) {
    const auto norm = [&](double p) { return valuesOf(shunt::linalg_vector_norm(t, p, IntArrayRef(dims))); };
    EXPECT_TRUE(near(norm(0), plus(t, dims, [](double x) { return x != 0; }), tolerance));
    EXPECT_TRUE(near(norm(1), plus(t, dims, [](double x) { return std::abs(x); }), tolerance));
    for (const double p : {2.0, 3.0, 2.5}) {
      std::vector<double> expected = plus(t, dims, [p](double x) { return std::pow(std::abs(x), p); });
      for (double& x : expected) x = std::pow(x, 1 / p);
      EXPECT_TRUE(near(norm(p), expected, tolerance)) << p;
    }
    const auto largest = [](double a, double x) { return std::max(a, std::abs(x)); };
    const auto smallest = [](double a, double x) { return std::min(a, std::abs(x)); };
    EXPECT_TRUE(near(norm(kInf), reducedBy(t, dims, 0, largest), 0));
    EXPECT_TRUE(near(norm(-kInf), reducedBy(t, dims, kInf, smallest), 0));
  });
}

TEST(Norm, OfNothingIsZeroWhateverTheOrder) {
  for (const double p : {-kInf, -1.0, 0.0, 1.0, 2.0, 3.0, kInf}) {
    EXPECT_EQ(shunt::ones({0}).norm(p).item<float>(), 0) << p;
    const Tensor rows = shunt::ones({2, 0}).norm(p, 1);
    EXPECT_EQ(rows.sizes(), IntArrayRef({2})) << p;
    EXPECT_TRUE(shunt::equal(rows, shunt::zeros({2}))) << p;
    EXPECT_EQ(shunt::ones({2, 0}).norm(p, 0).sizes(), IntArrayRef({0})) << p;
  }
}

TEST(Norm, ChecksItsArguments) {
  const Tensor t = shunt::ones({2, 3});
  EXPECT_THAT(errorOf([&] { t.to(kLong).norm(); }), HasSubstr("should be either floating point"));
  EXPECT_THAT(errorOf([&] { linalg_vector_norm(t.to(kLong)); }), HasSubstr("Expected a floating point"));
  EXPECT_THAT(errorOf([&] { t.norm(2, kLong); }), HasSubstr("desired output dtype should be either"));
  EXPECT_THAT(errorOf([&] { linalg_vector_norm(t.to(kDouble), 2, {1}, false, kFloat); }),
              HasSubstr("without narrowing"));
  EXPECT_THAT(errorOf([&] { linalg_vector_norm(shunt::ones({0}), kInf); }), HasSubstr("does not have an identity"));
  EXPECT_THAT(errorOf([&] { linalg_vector_norm(shunt::ones({2, 0}), -1, {1}); }), HasSubstr("is empty"));
  EXPECT_EQ(linalg_vector_norm(shunt::ones({2, 0}), 2, {1}).sizes(), IntArrayRef({2}));
  EXPECT_EQ(t.to(kLong).norm(2, kFloat).scalar_type(), kFloat);
  EXPECT_EQ(t.to(kBFloat16).norm(2, kDouble).scalar_type(), kDouble);
}

/// A running fold in double.
std::vector<double> running(const Tensor& t, int64_t dim, double initial,
                            const std::function<double(double, double)>& fold) {
  std::vector<double> out;
  forIndices(t.sizes(), [&](const std::vector<int64_t>& index) {
    double value = initial;
    std::vector<int64_t> at = index;
    const auto d = static_cast<size_t>(dim);
    for (at[d] = 0; at[d] <= index[d]; ++at[d]) value = fold(value, valueAt(t, at));
    out.push_back(value);
  });
  return out;
}

TEST(Scans, EqualRunningFolds) {
  for (const ScalarType type : {kByte, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble, kBool})
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{1}, {300}, {32, 10}, {3, 4, 5}, {9, 260}, {260, 9}, {0, 3}, {3, 0}})
      for (const Tensor& t : layoutsOf(randomTensor(sizes, type)))
        for (int64_t d = 0; d < t.dim(); ++d) {
          SCOPED_TRACE(detail::str(t.dtype(), " ", t.sizes(), " strides ", t.strides(), " dim ", d));
          const bool floating = isFloatingType(type);
          const Tensor sum = t.cumsum(d), product = t.cumprod(d);
          EXPECT_EQ(sum.scalar_type(), floating ? type : kLong);
          const double tolerance = floating ? 2 * epsilonOf(type) : 0;
          EXPECT_TRUE(near(valuesOf(sum), running(t, d, 0, std::plus<>()), tolerance));
          if (t.size(d) < 30 && floating)
            EXPECT_TRUE(near(valuesOf(product), running(t, d, 1, std::multiplies<>()), 4 * tolerance));
        }
}

TEST(Scans, FormsAndTypes) {
  Tensor t = shunt::arange(4, TensorOptions(kInt));
  EXPECT_EQ(t.cumsum(0, kDouble).scalar_type(), kDouble);
  EXPECT_EQ(shunt::tensor(5.0).cumsum(0).item<double>(), 5);
  EXPECT_THAT(errorOf([&] { t.cumsum_(0, kLong); }), HasSubstr("Bad in-place call"));
  EXPECT_THAT(errorOf([&] { t.cumsum(1); }), HasSubstr("Dimension out of range"));
  EXPECT_THAT(errorOf([&] { t.cumsum(0, kBool); }), HasSubstr("not implemented for"));
  t.cumsum_(0);
  EXPECT_EQ(valuesOf(t), (std::vector<double>{0, 1, 3, 6}));
  Tensor out = shunt::empty({0}, TensorOptions(kFloat));
  shunt::cumprod_out(out, t.add(1), -1);
  EXPECT_EQ(valuesOf(out), (std::vector<double>{1, 2, 8, 56}));
}

TEST(Trace, AddsTheDiagonal) {
  for (const Tensor& t : layoutsOf(randomTensor({4, 3}, kInt))) {
    double expected = 0;
    for (int64_t i = 0; i < 3; ++i) expected += valueAt(t, {i, i});
    EXPECT_EQ(t.trace().item<int64_t>(), static_cast<int64_t>(expected));
  }
  EXPECT_EQ(shunt::ones({0, 3}).trace().item<float>(), 0);
  EXPECT_THAT(errorOf([] { shunt::ones({3}).trace(); }), HasSubstr("expected a matrix"));
}

TEST(Statistics, ThreadsDoNotChangeBits) {
  const Tensor t = randomTensor({300, 500}, kFloat), row = t.view({-1});
  const auto results = [&] {
    return std::vector<Tensor>{t.var({0}, true), t.logsumexp({0}),   t.norm(3, {0}), t.std({1}, true),
                               row.var(),        row.logsumexp({0}), row.norm(),     t.cumsum(0)};
  };
  const std::vector<Tensor> expected = results();
  set_num_threads(1);
  const std::vector<Tensor> got = results();
  set_num_threads(4);
  const std::vector<Tensor> four = results();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(valuesOf(got[i]), valuesOf(expected[i])) << i;
    EXPECT_EQ(valuesOf(four[i]), valuesOf(expected[i])) << i;
  }
}

}  // namespace
}  // namespace shunt::testing
