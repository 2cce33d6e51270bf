// Philox 4x32-10: the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011). Block n of a seed is a pure function of (seed, n), so elements may be drawn in any order, by any
// thread and with any instruction set. Not for cryptography. Pure functions; any thread.
#pragma once

#include <shunt/core/macros.h>

#include <array>
#include <cstdint>

namespace shunt::philox {

using Block = std::array<uint32_t, 4>;

/// The ten rounds on a 128-bit counter with a 64-bit key, low words first.
SHUNT_ALWAYS_INLINE constexpr Block encrypt(Block c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

/// 128 random bits: block `number` of the stream that `seed` names.
SHUNT_ALWAYS_INLINE constexpr Block block(uint64_t seed, uint64_t number) {
  return encrypt({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0, 0},
                 static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

SHUNT_ALWAYS_INLINE constexpr uint64_t low64(const Block& b) { return uint64_t{b[1]} << 32 | b[0]; }
SHUNT_ALWAYS_INLINE constexpr uint64_t high64(const Block& b) { return uint64_t{b[3]} << 32 | b[2]; }

}  // namespace shunt::philox
