// Half: IEEE 754 binary16 (PyTorch's at::Half, dtype float16).
//
// A value type of 16 bits; any thread. Conversions are integer code plus exact float additions of normal numbers. They
// use neither F16C nor _Float16. So every instruction set, the scalar tail of a vector loop and the JIT give the same
// bits, also when denormals are flushed. They have no branches, so clang vectorizes loops of them.
#pragma once

#include <shunt/tensor/reduced_floating_point.h>

#include <bit>
#include <cstdint>
#include <limits>

namespace shunt {
namespace detail {

/// The value of a binary16 as a float. Exact; a NaN keeps its payload.
SHUNT_ALWAYS_INLINE constexpr float fp16_ieee_to_fp32_value(uint16_t h) {
  constexpr uint32_t kRebias = (127u - 15u) << 23;
  const uint32_t sign = (h & 0x8000u) << 16;
  const uint32_t magnitude = (h & 0x7fffu) << 13;
  const uint32_t normal = magnitude + kRebias;
  const uint32_t inf_or_nan = normal + kRebias;
  // Places a denormal's significand below the leading one of 2^-14, then subtracts 2^-14.
  constexpr uint32_t kMinNormal = kRebias + (1u << 23);
  const uint32_t denormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + kMinNormal) - std::bit_cast<float>(kMinNormal));
  uint32_t bits = magnitude >= 0x0f800000u ? inf_or_nan : normal;
  bits = magnitude < 0x00800000u ? denormal : bits;
  return std::bit_cast<float>(bits | sign);
}

/// The binary16 nearest to a float. Ties go to even, overflow gives infinity, and NaN gives a quiet NaN.
SHUNT_ALWAYS_INLINE constexpr uint16_t fp16_ieee_from_fp32_value(float f) {
  constexpr uint32_t kRebias = (127u - 15u) << 23;
  constexpr uint32_t kMinNormal = kRebias + (1u << 23);  // 2^-14
  constexpr uint32_t kOverflow = 0x477ff000u;            // 65520: half-way between the largest binary16 and 2^16
  constexpr uint32_t kInfinity = 0x7f800000u;
  const uint32_t w = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (w >> 16) & 0x8000u;
  const uint32_t magnitude = w & 0x7fffffffu;
  const uint32_t normal = (magnitude - kRebias + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // The ulp of 0.5 is 2^-24, the smallest binary16, so the addition itself rounds to even. Larger inputs don't reach
  // this line.
  const uint32_t small = magnitude < kMinNormal ? magnitude : 0u;
  const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(small) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t bits = magnitude < kMinNormal ? denormal : normal;
  bits = magnitude >= kOverflow ? 0x7c00u : bits;
  bits = magnitude > kInfinity ? nan : bits;
  return static_cast<uint16_t>(bits | sign);
}

}  // namespace detail

struct Half {
  uint16_t x;  // the bit pattern

  /// Selects the constructor from a bit pattern instead of a value: Half(0x3c00, Half::from_bits()) is 1.
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  Half() = default;
  SHUNT_ALWAYS_INLINE constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  SHUNT_ALWAYS_INLINE constexpr Half(float value) : x(detail::fp16_ieee_from_fp32_value(value)) {}
  SHUNT_ALWAYS_INLINE constexpr operator float() const { return detail::fp16_ieee_to_fp32_value(x); }
};
static_assert(sizeof(Half) == 2 && std::is_trivially_copyable_v<Half>);

}  // namespace shunt

template <>
class std::numeric_limits<shunt::Half> : public shunt::detail::ReducedLimits {
  static constexpr shunt::Half bits(uint16_t b) { return {b, shunt::Half::from_bits()}; }

 public:
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5;
  static constexpr int min_exponent = -13, min_exponent10 = -4, max_exponent = 16, max_exponent10 = 4;
  static constexpr shunt::Half min() noexcept { return bits(0x0400); }
  static constexpr shunt::Half lowest() noexcept { return bits(0xfbff); }
  static constexpr shunt::Half max() noexcept { return bits(0x7bff); }
  static constexpr shunt::Half epsilon() noexcept { return bits(0x1400); }
  static constexpr shunt::Half round_error() noexcept { return bits(0x3800); }
  static constexpr shunt::Half infinity() noexcept { return bits(0x7c00); }
  static constexpr shunt::Half quiet_NaN() noexcept { return bits(0x7e00); }
  static constexpr shunt::Half signaling_NaN() noexcept { return bits(0x7d00); }
  static constexpr shunt::Half denorm_min() noexcept { return bits(0x0001); }
};

template <>
struct std::hash<shunt::Half> : shunt::detail::ReducedHash<shunt::Half> {};
