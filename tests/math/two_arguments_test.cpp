// atan2, hypot and nextafter against MPFR and the C library, and the gamma functions against MPFR.
#include "tests/math/inputs.h"
#include "tests/math/math_kernels.h"
#include "tests/math/reference.h"

#include <shunt/elementwise/math/gamma.h>

#include <gtest/gtest.h>

namespace shunt::math_test {
namespace {

using ExactPair = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

template <class T>
double pairError(ExactPair exact, T a, T b, T computed) {
  thread_local Exact x, y, value;
  mpfr_set_d(x.get(), static_cast<double>(a), MPFR_RNDN);
  mpfr_set_d(y.get(), static_cast<double>(b), MPFR_RNDN);
  exact(value.get(), x.get(), y.get(), MPFR_RNDN);
  return ulpErrorExact(computed, value.get());
}

template <class T>
void checkPair(size_t index, ExactPair exact, double bound) {
  const PairKernel& kernel = supportedKernels().back()->pairs[index];
  std::vector<T> a = randomValues<T>(4'000, {1.0, 50.0}, 3), b = randomValues<T>(4'000, {1.0, 50.0}, 4);
  for (T x : specialValues<T>())
    for (T y : specialValues<T>()) a.push_back(x), b.push_back(y);
  std::vector<T> out(a.size());
  kernel.as<T>().loop(out.data(), a.data(), b.data(), static_cast<int64_t>(a.size()));
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = pairError(exact, a[i], b[i], out[i]);
    ASSERT_LE(error, bound) << kernel.name << "(" << a[i] << ", " << b[i] << ") = " << out[i];
    worst = std::max(worst, error);
  }
  std::printf("%s %s max %.4f ULP\n", kernel.name, sizeof(T) == 4 ? "float" : "double", worst);
}

TEST(Pairs, Atan2) {
  checkPair<float>(0, mpfr_atan2, 1.0);
  checkPair<double>(0, mpfr_atan2, 3.0);
}

TEST(Pairs, Hypot) {
  checkPair<float>(1, mpfr_hypot, 1.0);
  checkPair<double>(1, mpfr_hypot, 1.0);
}

template <class T>
void checkNextafter() {
  const PairKernel& kernel = supportedKernels().back()->pairs[2];
  std::vector<T> values = randomValues<T>(2'000, {1.0}, 5);
  const std::vector<T> special = specialValues<T>();
  values.insert(values.end(), special.begin(), special.end());
  for (T x : values)
    for (T y : {-x, T(0), T(1), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
      EXPECT_PRED2(sameBits<T>, kernel.as<T>().one(x, y), std::nextafter(x, y)) << x << " to " << y;
}

TEST(Pairs, Nextafter) {
  checkNextafter<float>();
  checkNextafter<double>();
}

int lgammaExact(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding) {
  int sign = 0;
  return mpfr_lgamma(out, &sign, x, rounding);
}

/// The largest error in units of 2^-53 of the larger of 1 and the value.
double worstGammaError(int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), double (*f)(double), double low, double high) {
  Exact x, value;
  double worst = 0;
  std::mt19937_64 random(9);
  for (int i = 0; i < 2'000; ++i) {
    const double at = std::uniform_real_distribution<double>(low, high)(random);
    mpfr_set_d(x.get(), at, MPFR_RNDN);
    exact(value.get(), x.get(), MPFR_RNDN);
    mpfr_sub_d(value.get(), value.get(), f(at), MPFR_RNDN);
    worst = std::max(worst, std::fabs(mpfr_get_d(value.get(), MPFR_RNDN)) / std::max(1.0, std::fabs(f(at))));
  }
  return worst * 0x1p53;
}

TEST(Gamma, AgainstMpfr) {
  for (const auto& [low, high] : {std::pair{0.0, 3.0}, {1.0, 12.0}, {10.0, 1000.0}, {-3.9, -0.1}}) {
    const double of_lgamma = worstGammaError(lgammaExact, math::lgamma<double>, low, high);
    const double of_digamma = worstGammaError(mpfr_digamma, math::digamma<double>, low, high);
    std::printf("[%g, %g]: lgamma %.2f, digamma %.2f\n", low, high, of_lgamma, of_digamma);
    EXPECT_LE(of_lgamma, 8) << low;
    EXPECT_LE(of_digamma, 24) << low;
  }
  // Relative near the roots 1 and 2.
  for (const double root : {1.0, 2.0})
    for (const double distance : {1e-3, -1e-3, 1e-9, -1e-9, 0x1p-52}) {
      Exact x, value;
      mpfr_set_d(x.get(), root + distance, MPFR_RNDN);
      lgammaExact(value.get(), x.get(), MPFR_RNDN);
      EXPECT_LE(ulpErrorExact(math::lgamma(root + distance), value.get()), 6) << root + distance;
    }
}

TEST(Gamma, SpecialValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double x : {0.0, -0.0, -1.0, -4.0, kInfinity, -kInfinity}) EXPECT_EQ(math::lgamma(x), kInfinity) << x;
  EXPECT_EQ(math::lgamma(1.0), 0);
  EXPECT_EQ(math::lgamma(2.0f), 0);
  EXPECT_EQ(math::digamma(0.0), -kInfinity);
  EXPECT_EQ(math::digamma(-0.0), kInfinity);
  EXPECT_EQ(math::digamma(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::digamma(-3.0)) && std::isnan(math::digamma(-kInfinity)));
  EXPECT_EQ(math::trigamma(-2.0), kInfinity);
  EXPECT_NEAR(math::trigamma(1.0), 1.6449340668482264, 1e-15);
  EXPECT_NEAR(math::trigamma(-0.5), 8.934802200544679, 1e-13);
  // zeta(3, 1/2) = 7 zeta(3), and one term more below 0.
  EXPECT_NEAR(math::zeta(3.0, 0.5), 8.414398322117159, 1e-14);
  EXPECT_NEAR(math::zeta(3.0, -0.5), 8.414398322117159 - 8, 1e-13);
  EXPECT_TRUE(std::isnan(math::zeta(2.5, -0.5)));
}

}  // namespace
}  // namespace shunt::math_test
