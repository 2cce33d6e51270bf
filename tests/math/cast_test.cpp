// The cast rule: its values, and the same bits for every instruction set and position in a loop.
#include "tests/math/inputs.h"
#include "tests/math/math_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace shunt::math_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

TEST(Cast, FloatingToIntegerTruncates) {
  EXPECT_EQ(cast<int32_t>(2.9f), 2);
  EXPECT_EQ(cast<int32_t>(-2.9), -2);
  EXPECT_EQ(cast<int8_t>(-128.9), -128);
  EXPECT_EQ(cast<uint8_t>(255.9f), 255);
  EXPECT_EQ(cast<int32_t>(-2147483648.9), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(cast<int32_t>(2147483647.9), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(cast<int64_t>(-0x1p63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(cast<int64_t>(0x1.fffffep62f), int64_t{0x7fffff8000000000});
  EXPECT_EQ(cast<int16_t>(Half(-7.75f)), -7);
  EXPECT_EQ(cast<int64_t>(BFloat16(1e10f)), static_cast<int64_t>(static_cast<float>(BFloat16(1e10f))));
}

TEST(Cast, OutOfRangeWrapsAndBeyondTheWideIntegerIsItsMinimum) {
  EXPECT_EQ(cast<uint8_t>(-1.0f), 255);
  EXPECT_EQ(cast<uint8_t>(300.0f), 44);
  EXPECT_EQ(cast<int8_t>(200.0f), -56);
  EXPECT_EQ(cast<int16_t>(70000.0), 4464);
  EXPECT_EQ(cast<uint8_t>(4294967297.0), 1);  // by way of int64_t
  EXPECT_EQ(cast<int16_t>(4294967297.0), 0);  // by way of int32_t
  for (float v : {kNan, kInf, -kInf, 3e9f, -3e9f}) {
    EXPECT_EQ(cast<int32_t>(v), std::numeric_limits<int32_t>::min()) << v;
    EXPECT_EQ(cast<int16_t>(v), 0) << v;
    EXPECT_EQ(cast<int8_t>(v), 0) << v;
    EXPECT_EQ(cast<uint8_t>(v), 0) << v;
  }
  for (double v : {0x1p63, -0x1.1p63, double{kNan}, double{kInf}})
    EXPECT_EQ(cast<int64_t>(v), std::numeric_limits<int64_t>::min()) << v;
  EXPECT_EQ(cast<int32_t>(2147483648.0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(cast<int32_t>(-2147483649.0), std::numeric_limits<int32_t>::min());
}

TEST(Cast, IntegersAndBool) {
  EXPECT_EQ(cast<uint8_t>(int64_t{-1}), 255);
  EXPECT_EQ(cast<int8_t>(int32_t{384}), -128);
  EXPECT_EQ(cast<float>(int64_t{16777217}), 16777216.0f);
  EXPECT_EQ(static_cast<float>(cast<Half>(int32_t{70000})), kInf);
  EXPECT_EQ(static_cast<float>(cast<BFloat16>(int64_t{257})), 256.0f);
  EXPECT_TRUE(cast<bool>(kNan) && cast<bool>(0.1) && cast<bool>(Half(1e-7f)) && cast<bool>(int8_t{-1}));
  EXPECT_FALSE(cast<bool>(-0.0f) || cast<bool>(BFloat16(-0.0f)) || cast<bool>(int64_t{0}));
  EXPECT_EQ(cast<double>(true), 1.0);
  EXPECT_EQ(cast<Half>(true).x, Half(1.0f).x);
  // Through float: 1 + 2^-11 + 2^-30 would round up in one step.
  EXPECT_EQ(cast<Half>(1.0 + 0x1p-11 + 0x1p-30).x, Half(1.0f).x);
}

TEST(Cast, OpmathTypes) {
  static_assert(std::is_same_v<opmath_t<Half>, float> && std::is_same_v<opmath_t<BFloat16>, float>);
  static_assert(std::is_same_v<opmath_t<double>, double> && std::is_same_v<opmath_t<int8_t>, int8_t>);
  static_assert(cast<int32_t>(1e10f) == std::numeric_limits<int32_t>::min());
}

/// n elements of the type: random bits, and for the wide floating types also values around the integers' limits.
std::vector<std::byte> inputsFor(const CastKernel& kernel, int64_t n) {
  std::mt19937_64 random(17);
  std::vector<std::byte> bytes(static_cast<size_t>(n * kernel.from_size));
  auto store = [&](auto value, int64_t i) {
    std::memcpy(&bytes[static_cast<size_t>(i * kernel.from_size)], &value, sizeof value);
  };
  const std::string from = kernel.from;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    const double limit =
        std::ldexp(1.0, static_cast<int>(bits >> 58)) + static_cast<double>(static_cast<int64_t>(bits % 9) - 4) / 2;
    const double near_limit = (bits & 512) != 0 ? -limit : limit;
    if (from == "bool")
      store((bits & 1) != 0, i);
    else if (from == "float" && i % 2 == 0)
      store(static_cast<float>(near_limit), i);
    else if (from == "double" && i % 2 == 0)
      store(near_limit, i);
    else
      std::memcpy(&bytes[static_cast<size_t>(i * kernel.from_size)], &bits, static_cast<size_t>(kernel.from_size));
  }
  return bytes;
}

/// NaN payloads are not promised: two NaNs of one type are made equal before the bytes are compared.
void canonicalise(const CastKernel& kernel, std::vector<std::byte>& bytes) {
  const std::string to = kernel.to;
  auto each = [&](auto zero) {
    using T = decltype(zero);
    for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T v;
      std::memcpy(&v, &bytes[at], sizeof v);
      if (!(v == v)) v = std::numeric_limits<T>::quiet_NaN();
      std::memcpy(&bytes[at], &v, sizeof v);
    }
  };
  if (to == "Half") each(Half(0.0f));
  if (to == "BFloat16") each(BFloat16(0.0f));
  if (to == "float") each(0.0f);
  if (to == "double") each(0.0);
}

TEST(Cast, SameBitsForEveryInstructionSetAndElement) {
  constexpr int64_t kCount = 4099;  // not a multiple of any vector width
  const Kernels& baseline = *supportedKernels().front();
  ASSERT_EQ(baseline.casts.size(), 100u);
  for (size_t k = 0; k < baseline.casts.size(); ++k) {
    const std::vector<std::byte> in = inputsFor(baseline.casts[k], kCount);
    std::vector<std::byte> expected(static_cast<size_t>(kCount * baseline.casts[k].to_size)), out(expected.size());
    for (int64_t i = 0; i < kCount; ++i)
      baseline.casts[k].one(&expected[static_cast<size_t>(i * baseline.casts[k].to_size)],
                            &in[static_cast<size_t>(i * baseline.casts[k].from_size)]);
    canonicalise(baseline.casts[k], expected);
    for (const Kernels* kernels : supportedKernels()) {
      const CastKernel& kernel = kernels->casts[k];
      kernel.loop(out.data(), in.data(), kCount);
      canonicalise(kernel, out);
      EXPECT_TRUE(out == expected) << kernels->isa << ": " << kernel.from << " to " << kernel.to;
    }
  }
}

}  // namespace
}  // namespace shunt::math_test
