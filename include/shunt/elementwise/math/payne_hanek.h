// Reduction modulo pi/2 of arguments of any size (M. Payne, R. Hanek: Radian reduction for trigonometric functions,
// 1983).
//
// The slow half of trig.h: integer code for one number at a time, which doesn't vectorise. Pure functions; any thread.
#pragma once

#include <shunt/elementwise/math/bits.h>

namespace shunt::math::detail {

/// x = (4 k + quadrant) pi/2 + r, |r| <= pi/4. Only the two low bits of `quadrant` count.
struct TrigReduced {
  double r;
  uint64_t quadrant;
};

/// pi/2 in three parts. All are positive (each is rounded down), so that -0 stays -0 through the reduction by fma.
inline constexpr double kHalfPi1 = 0x1.921fb54442d18p+0, kHalfPi2 = 0x1.1a62633145c06p-54,
                        kHalfPi3 = 0x1.c1cd129024e09p-107;

__extension__ using UInt128 = unsigned __int128;  // programs that include this may be compiled with -Wpedantic

/// The signed 128-bit fixed-point number `fraction` * 2^-126, times pi/2, to double precision.
SHUNT_ALWAYS_INLINE double timesHalfPi(UInt128 fraction, bool negative) {
  const uint64_t top = static_cast<uint64_t>(fraction >> 64);
  const int zeros = top != 0 ? std::countl_zero(top) : 64 + std::countl_zero(static_cast<uint64_t>(fraction));
  const UInt128 normal = fraction << (zeros & 127);
  constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;
  const double high = static_cast<double>(static_cast<uint64_t>(normal >> 75)) * 0x1p-53;
  const double low = static_cast<double>(static_cast<uint64_t>(normal >> 22) & kMask) * 0x1p-106;
  const double product = high * kHalfPi1;
  const double rest = fma(high, kHalfPi1, -product) + fma(high, kHalfPi2, low * kHalfPi1);
  const double scale = fromBits(static_cast<uint64_t>(1023 + 2 - zeros) << 52);
  return (negative ? -scale : scale) * (product + rest);
}

/// For finite |x| >= 2^-10. The error is one rounding error of r, however close x is to a multiple of pi/2.
SHUNT_ALWAYS_INLINE TrigReduced reducePayneHanek(double x) {
  // 2 / pi in binary, after 64 zero bits for its integer part. Local, since an inline variable would be a weak symbol.
  constexpr uint64_t kTwoOverPi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                     0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
                                     0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                     0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
                                     0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  const uint64_t bits = toBits(x);
  const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent

  // The 192 bits of 2/pi from weight 2^(1-exponent) down. Those above contribute multiples of 4 quadrants, those below
  // less than 2^-136 of one.
  const int offset = exponent + 62;
  const int word = offset >> 6, shift = offset & 63;
  uint64_t w[3];
  for (int i = 0; i < 3; ++i)
    w[i] = (kTwoOverPi[word + i] << shift) | ((kTwoOverPi[word + i + 1] >> 1) >> (63 - shift));

  // mantissa * w modulo 2^192 is |x| * 2/pi modulo 4 in units of 2^-190.
  const UInt128 low = static_cast<UInt128>(mantissa) * w[2];
  const UInt128 middle = static_cast<UInt128>(mantissa) * w[1] + static_cast<uint64_t>(low >> 64);
  const uint64_t high = mantissa * w[0] + static_cast<uint64_t>(middle >> 64);

  const uint64_t quadrant = (high + (uint64_t{1} << 61)) >> 62;  // to nearest
  const uint64_t fraction_high = high - (quadrant << 62);
  const UInt128 fraction = static_cast<UInt128>(fraction_high) << 64 | static_cast<uint64_t>(middle);
  const bool below = (fraction_high >> 63) != 0;
  const bool negative = (bits >> 63) != 0;
  return {timesHalfPi(below ? -fraction : fraction, below != negative), negative ? -quadrant : quadrant};
}

}  // namespace shunt::math::detail
