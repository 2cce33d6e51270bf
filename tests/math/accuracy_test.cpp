// Every function against MPFR.
#include "tests/math/inputs.h"
#include "tests/math/math_kernels.h"
#include "tests/math/reference.h"

#include <gtest/gtest.h>

namespace shunt::math_test {
namespace {

template <class T>
double exactError(const Reference& reference, T x, T computed) {
  thread_local Exact argument, value;
  mpfr_set_d(argument.get(), static_cast<double>(x), MPFR_RNDN);
  reference.exact(value.get(), argument.get(), MPFR_RNDN);
  return ulpErrorExact(computed, value.get());
}

/// Largest error over the inputs; `sample`: every how many-th input goes to MPFR in any case.
template <class T>
void checkAccuracy(const Reference& reference, const std::vector<T>& inputs, size_t sample) {
  const UnaryKernel& kernel = supportedKernels().back()->find(reference.name);
  const double bound = reference.bound<T>();
  std::vector<T> outputs(inputs.size());
  kernel.as<T>().loop(outputs.data(), inputs.data(), static_cast<int64_t>(inputs.size()));

  double worst = 0;
  T worst_at = 0;
  int failures = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double error = ulpError(outputs[i], reference.screen(inputs[i]));
    if (error > bound - 0.02 || i % sample == 0) error = exactError(reference, inputs[i], outputs[i]);
    if (error > worst) worst = error, worst_at = inputs[i];
    if (!(error <= bound) && ++failures <= 5)
      ADD_FAILURE() << reference.name << "(" << std::hexfloat << inputs[i] << ") = " << outputs[i] << std::defaultfloat
                    << ": " << error << " ULP from MPFR's value, bound " << bound;
  }
  EXPECT_EQ(failures, 0) << reference.name;
  std::printf("%-8s %s max %.4f ULP at %a, %zu values\n", reference.name, sizeof(T) == 4 ? "float " : "double", worst,
              static_cast<double>(worst_at), inputs.size());
}

class Accuracy : public testing::TestWithParam<int> {
 protected:
  const Reference& reference() const { return kReferences[GetParam()]; }
};

TEST_P(Accuracy, FloatSweep) { checkAccuracy(reference(), sweepFloat(1021), 211); }

TEST_P(Accuracy, FloatSpecialValues) { checkAccuracy(reference(), specialValues<float>(), 1); }

TEST_P(Accuracy, DoubleRandom) {
  checkAccuracy(reference(), randomValues<double>(100'000, {0.01, 1.0, 6.0, 100.0, 750.0, 1e6}, 7), 61);
}

TEST_P(Accuracy, DoubleSpecialValues) { checkAccuracy(reference(), specialValues<double>(), 1); }

INSTANTIATE_TEST_SUITE_P(Functions, Accuracy, testing::Range(0, static_cast<int>(std::size(kReferences))),
                         [](const auto& info) { return std::string(kReferences[info.param].name); });

/// The arguments in [2^exponent, 2^(exponent+1)) nearest to a multiple of pi/2 come from a random search: the hard
/// cases of the reduction, where sin or cos is smallest.
template <class T>
std::vector<T> nearMultiplesOfHalfPi() {
  std::vector<T> values;
  std::mt19937_64 random(11);
  Exact half_pi, product;
  mpfr_set_prec(half_pi.get(), 1400);
  mpfr_set_prec(product.get(), 1400);
  mpfr_const_pi(half_pi.get(), MPFR_RNDN);
  mpfr_div_2ui(half_pi.get(), half_pi.get(), 1, MPFR_RNDN);
  const int top = std::numeric_limits<T>::max_exponent - 2;
  for (int exponent = 0; exponent < top; exponent += 1 + top / 400)
    for (int i = 0; i < 4; ++i) {
      mpfr_mul_d(product.get(), half_pi.get(),
                 std::floor(std::ldexp(1 + std::ldexp(double(random() >> 12), -52), exponent)), MPFR_RNDN);
      values.push_back(static_cast<T>(mpfr_get_d(product.get(), MPFR_RNDN)));
    }
  return values;
}

/// |computed - Phi(x)|: its bound is absolute.
template <class T>
double normalCdfError(T x, T computed) {
  Exact scaled, value;
  mpfr_set_ui(scaled.get(), 2, MPFR_RNDN);
  mpfr_rec_sqrt(scaled.get(), scaled.get(), MPFR_RNDN);
  mpfr_mul_d(scaled.get(), scaled.get(), -static_cast<double>(x), MPFR_RNDN);
  mpfr_erfc(value.get(), scaled.get(), MPFR_RNDN);
  mpfr_div_ui(value.get(), value.get(), 2, MPFR_RNDN);
  mpfr_sub_d(value.get(), value.get(), static_cast<double>(computed), MPFR_RNDN);
  return std::fabs(mpfr_get_d(value.get(), MPFR_RNDN));
}

template <class T>
void checkNormalCdf(const std::vector<T>& inputs, double bound) {
  std::vector<T> outputs(inputs.size());
  supportedKernels()
      .back()
      ->find("normalCdf")
      .as<T>()
      .loop(outputs.data(), inputs.data(), static_cast<int64_t>(inputs.size()));
  double worst = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(std::isnan(outputs[i]), std::isnan(inputs[i])) << inputs[i];
    if (std::isnan(inputs[i])) continue;
    const double error = normalCdfError(inputs[i], outputs[i]);
    ASSERT_LE(error, bound) << inputs[i];
    worst = std::max(worst, error);
    if (std::fabs(inputs[i]) > 9) ASSERT_EQ(outputs[i], inputs[i] > 0 ? 1 : 0) << inputs[i];
  }
  std::printf("normalCdf %s max 2^%.3f, %zu values\n", sizeof(T) == 4 ? "float " : "double", std::log2(worst),
              inputs.size());
}

TEST(Accuracy, NormalCdf) {
  checkNormalCdf(sweepFloat(65537), std::exp2(-23.8));
  checkNormalCdf(randomValues<float>(10'000, {0.1, 1.0, 3.0, 6.0}, 3), std::exp2(-23.8));
  checkNormalCdf(specialValues<float>(), std::exp2(-23.8));
  checkNormalCdf(randomValues<double>(5'000, {0.01, 1.0, 6.0, 100.0}, 5), std::exp2(-52));
  checkNormalCdf(specialValues<double>(), std::exp2(-52));
}

TEST(Accuracy, TrigonometricNearMultiplesOfHalfPi) {
  for (const Reference& reference : kReferences) {
    const std::string name = reference.name;
    if (name != "sin" && name != "cos" && name != "tan") continue;
    checkAccuracy(reference, nearMultiplesOfHalfPi<float>(), 1);
    checkAccuracy(reference, nearMultiplesOfHalfPi<double>(), 1);
  }
  // The double closest to a multiple of pi/2 of all (6381956970095103 * 2^797).
  const double hard = std::ldexp(6381956970095103.0, 797);
  EXPECT_LE(exactError(kReferences[5], hard, supportedKernels().back()->find("cos").of_double.one(hard)), 2.0);
}

}  // namespace
}  // namespace shunt::math_test
