// BFloat16: the upper half of a binary32 (PyTorch's at::BFloat16, dtype bfloat16).
//
// A value type of 16 bits; any thread. Rounding is integer code. It does not use AVX512_BF16, whose conversion flushes
// denormals. So every instruction set, the scalar tail of a vector loop and the JIT give the same bits.
#pragma once

#include <shunt/tensor/reduced_floating_point.h>

#include <bit>
#include <cstdint>
#include <limits>

namespace shunt {
namespace detail {

SHUNT_ALWAYS_INLINE constexpr float f32_from_bits(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

/// The bfloat16 nearest to a float. Ties go to even, overflow gives infinity, and NaN gives a quiet NaN.
SHUNT_ALWAYS_INLINE constexpr uint16_t round_to_nearest_even(float f) {
  const uint32_t w = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (w + 0x7fffu + ((w >> 16) & 1u)) >> 16;
  const uint32_t nan = (w >> 16) | 0x40u;
  return static_cast<uint16_t>((w & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace detail

struct BFloat16 {
  uint16_t x;  // the bit pattern

  /// Selects the constructor from a bit pattern instead of a value: BFloat16(0x3f80, BFloat16::from_bits()) is 1.
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  BFloat16() = default;
  SHUNT_ALWAYS_INLINE constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  SHUNT_ALWAYS_INLINE constexpr BFloat16(float value) : x(detail::round_to_nearest_even(value)) {}
  SHUNT_ALWAYS_INLINE constexpr operator float() const { return detail::f32_from_bits(x); }
};
static_assert(sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<BFloat16>);

}  // namespace shunt

template <>
class std::numeric_limits<shunt::BFloat16> : public shunt::detail::ReducedLimits {
  static constexpr shunt::BFloat16 bits(uint16_t b) { return {b, shunt::BFloat16::from_bits()}; }

 public:
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4;
  static constexpr int min_exponent = -125, min_exponent10 = -37, max_exponent = 128, max_exponent10 = 38;
  static constexpr shunt::BFloat16 min() noexcept { return bits(0x0080); }
  static constexpr shunt::BFloat16 lowest() noexcept { return bits(0xff7f); }
  static constexpr shunt::BFloat16 max() noexcept { return bits(0x7f7f); }
  static constexpr shunt::BFloat16 epsilon() noexcept { return bits(0x3c00); }
  static constexpr shunt::BFloat16 round_error() noexcept { return bits(0x3f00); }
  static constexpr shunt::BFloat16 infinity() noexcept { return bits(0x7f80); }
  static constexpr shunt::BFloat16 quiet_NaN() noexcept { return bits(0x7fc0); }
  static constexpr shunt::BFloat16 signaling_NaN() noexcept { return bits(0x7fa0); }
  static constexpr shunt::BFloat16 denorm_min() noexcept { return bits(0x0001); }
};

template <>
struct std::hash<shunt::BFloat16> : shunt::detail::ReducedHash<shunt::BFloat16> {};
