// pow: accuracy against MPFR, C99's special cases, exact results.
#include "tests/math/inputs.h"
#include "tests/math/math_kernels.h"
#include "tests/math/reference.h"

#include <gtest/gtest.h>

namespace shunt::math_test {
namespace {

template <class T>
const Binary<T>& powKernel(const Kernels& kernels = *supportedKernels().back()) {
  if constexpr (std::is_same_v<T, float>)
    return kernels.pow_float;
  else
    return kernels.pow_double;
}

/// Bases over the whole range and near 1, exponents that take the result over the whole range.
template <class T>
void drawArguments(std::vector<T>& x, std::vector<T>& y, int64_t n) {
  std::mt19937_64 random(3);
  const double top = std::numeric_limits<T>::max_exponent;
  for (int64_t i = 0; i < n; ++i) {
    const double spread = i % 4 == 0 ? 1e-3 : i % 4 == 1 ? 2.0 : top;
    const T base = static_cast<T>(std::exp2(std::uniform_real_distribution<double>(-spread, spread)(random)));
    const double logarithm = std::log2(static_cast<double>(base));
    const double target = std::uniform_real_distribution<double>(-1.2 * top, 1.1 * top)(random);
    x.push_back(base);
    y.push_back(static_cast<T>(logarithm == 0 ? target : target / logarithm));
  }
}

template <class T>
void checkAccuracy(int64_t n) {
  std::vector<T> x, y;
  drawArguments(x, y, n);
  std::vector<T> out(x.size());
  powKernel<T>().loop(out.data(), x.data(), y.data(), n);
  Exact a, b, value;
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpError(out[i], std::pow(static_cast<Wider<T>>(x[i]), static_cast<Wider<T>>(y[i])));
    if (error > 0.9 || i % 41 == 0) {
      mpfr_set_d(a.get(), x[i], MPFR_RNDN);
      mpfr_set_d(b.get(), y[i], MPFR_RNDN);
      mpfr_pow(value.get(), a.get(), b.get(), MPFR_RNDN);
      error = ulpErrorExact(out[i], value.get());
    }
    worst = std::max(worst, error);
    ASSERT_LE(error, 1.0) << "pow(" << std::hexfloat << x[i] << ", " << y[i] << ") = " << out[i];
  }
  std::printf("pow %s max %.4f ULP, %zu values\n", sizeof(T) == 4 ? "float " : "double", worst, x.size());
}

TEST(Pow, AccuracyFloat) { checkAccuracy<float>(1'000'000); }
TEST(Pow, AccuracyDouble) { checkAccuracy<double>(600'000); }

template <class T>
void checkSpecialCases() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T odd_max = std::ldexp(T(1), std::numeric_limits<T>::digits) - 1;
  const struct {
    T x, y, expected;
  } cases[] = {
      // ISO C, F.10.4.4, in its order.
      {T(0.), T(-3), inf},
      {T(-0.), T(-3), -inf},
      {T(0.), T(-2), inf},
      {T(-0.), T(-2), inf},
      {T(-0.), T(-2.5), inf},
      {T(0.), -inf, inf},
      {T(-0.), -inf, inf},
      {T(0.), T(3), T(0.)},
      {T(-0.), T(3), T(-0.)},
      {T(0.), T(2), T(0.)},
      {T(-0.), T(2), T(0.)},
      {T(-0.), T(0.5), T(0.)},
      {T(-1), inf, T(1)},
      {T(-1), -inf, T(1)},
      {T(1), nan, T(1)},
      {T(1), inf, T(1)},
      {nan, T(0.), T(1)},
      {nan, T(-0.), T(1)},
      {inf, T(0.), T(1)},
      {T(0.), T(-0.), T(1)},
      {T(-2), T(0.5), nan},
      {T(-2), T(-1.5), nan},
      {T(0.5), -inf, inf},
      {T(-0.5), -inf, inf},
      {T(2), -inf, T(0.)},
      {T(-2), -inf, T(0.)},
      {T(0.5), inf, T(0.)},
      {T(-0.5), inf, T(0.)},
      {T(2), inf, inf},
      {T(-2), inf, inf},
      {-inf, T(-3), T(-0.)},
      {-inf, T(-2), T(0.)},
      {-inf, T(-0.5), T(0.)},
      {-inf, T(3), -inf},
      {-inf, T(2), inf},
      {-inf, T(0.5), inf},
      {inf, T(-1), T(0.)},
      {inf, T(1), inf},
      {nan, T(1), nan},
      {T(2), nan, nan},
      {T(-1), nan, nan},
      {nan, inf, nan},
      // Parity of large exponents.
      {T(-1), odd_max, T(-1)},
      {T(-1), odd_max + 1, T(1)},
      {T(-1), odd_max - 1, T(1)},
      {T(-2), odd_max, -inf},
      {T(-1), (odd_max - 1) / 2, T(-1)},
      {T(-1), odd_max / 2, nan},
  };
  for (const Kernels* kernels : supportedKernels())
    for (const auto& c : cases)
      EXPECT_PRED2(sameBits<T>, powKernel<T>(*kernels).one(c.x, c.y), c.expected)
          << kernels->isa << ": pow(" << c.x << ", " << c.y << ")";
}

TEST(Pow, SpecialCases) {
  checkSpecialCases<float>();
  checkSpecialCases<double>();
}

TEST(Pow, RepresentableResultsAreExact) {
  for (int base = -40; base <= 40; ++base) {
    int64_t product = 1;
    for (int exponent = 0; exponent <= 12; ++exponent) {
      if (std::abs(product) <= (int64_t{1} << 24)) {
        EXPECT_EQ(powKernel<float>().one(static_cast<float>(base), static_cast<float>(exponent)),
                  static_cast<float>(product));
      }
      if (std::abs(product) <= (int64_t{1} << 53)) {
        EXPECT_EQ(powKernel<double>().one(base, exponent), static_cast<double>(product)) << base << " " << exponent;
      }
      if (std::abs(product) > (int64_t{1} << 55)) break;
      product *= base;
    }
    EXPECT_EQ(powKernel<double>().one(static_cast<double>(base) * base, 0.5), std::abs(base));
  }
}

}  // namespace
}  // namespace shunt::math_test
