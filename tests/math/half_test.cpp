// Half and BFloat16: every conversion up, a dense sweep of conversions down, arithmetic, limits.
#include <shunt/tensor/bfloat16.h>
#include <shunt/tensor/half.h>

#include "tests/math/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <unordered_set>

namespace shunt::math_test {
namespace {

template <class T>
struct Layout;
template <>
struct Layout<Half> {
  static constexpr int kMantissaBits = 10, kBias = 15;
};
template <>
struct Layout<BFloat16> {
  static constexpr int kMantissaBits = 7, kBias = 127;
};

/// The value of a bit pattern, from the definition of the format.
template <class T>
double valueOf(uint16_t bits) {
  constexpr int kMantissa = Layout<T>::kMantissaBits;
  const int exponent = (bits & 0x7fff) >> kMantissa;
  const int fraction = bits & ((1 << kMantissa) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (0x7fff >> kMantissa)) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - Layout<T>::kBias - kMantissa);
  return sign * std::ldexp(fraction + (1 << kMantissa), exponent - Layout<T>::kBias - kMantissa);
}

/// The nearest value of the format, ties to even, by scaling to the quantum and rounding there.
template <class T>
double nearest(float f) {
  if (std::isnan(f) || std::isinf(f) || f == 0) return f;
  const int exponent = std::max(std::ilogb(static_cast<double>(f)), 1 - Layout<T>::kBias);
  const double quantum = std::ldexp(1.0, exponent - Layout<T>::kMantissaBits);
  const double rounded = std::nearbyint(f / quantum) * quantum;
  const double max = static_cast<double>(static_cast<float>(std::numeric_limits<T>::max()));
  return std::fabs(rounded) > max ? std::copysign(INFINITY, f) : rounded;
}

bool sameValue(double a, double b) { return sameBits(a, b); }

template <class T>
class Reduced : public testing::Test {};
using ReducedTypes = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Reduced, ReducedTypes);

TYPED_TEST(Reduced, EveryValueConvertsUpExactlyAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam value(static_cast<uint16_t>(bits), TypeParam::from_bits());
    const float up = value;
    ASSERT_PRED2(sameValue, up, valueOf<TypeParam>(value.x)) << std::hex << bits;
    const TypeParam back(up);
    if (up == up)
      ASSERT_EQ(back.x, value.x) << std::hex << bits;
    else
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << std::hex << bits;
  }
}

template <class T>
void expectNearest(float f) {
  ASSERT_PRED2(sameValue, static_cast<float>(T(f)), nearest<T>(f)) << std::hexfloat << f;
}

TYPED_TEST(Reduced, ConvertsDownToNearestEven) {
  for (float f : sweepFloat(1021)) expectNearest<TypeParam>(f);
  for (float f : specialValues<float>()) expectNearest<TypeParam>(f);
}

TYPED_TEST(Reduced, ConvertsDownRightAroundEveryTie) {
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const double low = valueOf<TypeParam>(static_cast<uint16_t>(bits)),
                 high = valueOf<TypeParam>(static_cast<uint16_t>(bits + 1));
    if (!std::isfinite(high)) break;
    const float tie = static_cast<float>((low + high) / 2);
    for (float f : {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, INFINITY), static_cast<float>(low)}) {
      expectNearest<TypeParam>(f);
      expectNearest<TypeParam>(-f);
    }
  }
  const float max = std::numeric_limits<TypeParam>::max();
  const float half_ulp = std::ldexp(max, -Layout<TypeParam>::kMantissaBits - 2);
  expectNearest<TypeParam>(max + half_ulp / 2);
  expectNearest<TypeParam>(max + half_ulp);
  EXPECT_EQ(static_cast<float>(TypeParam(std::ldexp(max, -4) * 16.5f)), INFINITY);
}

TYPED_TEST(Reduced, ArithmeticRoundsOnceFromFloat) {
  const TypeParam a = 1.5f, b = 0.1f;
  const float fa = a, fb = b;
  EXPECT_EQ((a + b).x, TypeParam(fa + fb).x);
  EXPECT_EQ((a - b).x, TypeParam(fa - fb).x);
  EXPECT_EQ((a * b).x, TypeParam(fa * fb).x);
  EXPECT_EQ((a / b).x, TypeParam(fa / fb).x);
  TypeParam c = a;
  c += b;
  c *= 2.0f;
  EXPECT_EQ(c.x, (TypeParam(fa + fb) * TypeParam(2.0f)).x);
  EXPECT_EQ((-a).x, TypeParam(-1.5f).x);
  static_assert(std::is_same_v<decltype(a + 1), TypeParam> && std::is_same_v<decltype(1 + a), TypeParam>);
  static_assert(std::is_same_v<decltype(a + 1.0f), float> && std::is_same_v<decltype(1.0 * a), double>);
  EXPECT_TRUE(b < a && a > b && a == a && a != b && a <= 1.5 && a == 1.5f);
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_FALSE(nan == nan || nan < a || nan > a);
}

TYPED_TEST(Reduced, LimitsHashAndPrinting) {
  using L = std::numeric_limits<TypeParam>;
  constexpr int kMantissa = Layout<TypeParam>::kMantissaBits;
  EXPECT_EQ(static_cast<float>(L::epsilon()), std::ldexp(1.0f, -kMantissa));
  EXPECT_EQ(static_cast<float>(L::min()), std::ldexp(1.0f, 1 - Layout<TypeParam>::kBias));
  EXPECT_EQ(static_cast<float>(L::denorm_min()), std::ldexp(1.0f, 1 - Layout<TypeParam>::kBias - kMantissa));
  EXPECT_EQ(static_cast<float>(L::max()), std::ldexp(2.0f - std::ldexp(1.0f, -kMantissa), Layout<TypeParam>::kBias));
  EXPECT_EQ(static_cast<float>(L::lowest()), -static_cast<float>(L::max()));
  EXPECT_EQ(L::digits, kMantissa + 1);
  EXPECT_EQ(std::ldexp(1.0f, L::min_exponent - 1), static_cast<float>(L::min()));
  EXPECT_TRUE(std::isinf(static_cast<float>(L::infinity())) && std::isnan(static_cast<float>(L::quiet_NaN())));
  EXPECT_EQ(std::hash<TypeParam>()(TypeParam(0.0f)), std::hash<TypeParam>()(TypeParam(-0.0f)));
  EXPECT_EQ((std::unordered_set<TypeParam>{1.0f, 1.0f, 2.0f}.size()), 2u);
  std::ostringstream out;
  out << TypeParam(1.5f);
  EXPECT_EQ(out.str(), "1.5");
}

}  // namespace
}  // namespace shunt::math_test
