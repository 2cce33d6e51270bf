// Philox and Box-Muller over many blocks at a time, so that both become vector loops.
#include "kernels/random/draw_table.h"

#include <shunt/elementwise/math/math.h>

namespace shunt::native {
namespace {

void makeBlocks(philox::Block* out, uint64_t seed, uint64_t first, int64_t count) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i) out[i] = philox::block(seed, first + static_cast<uint64_t>(i));
}

// Box-Muller: two uniforms give two independent normals.
template <class C>
SHUNT_ALWAYS_INLINE void normalPair(C u1, C u2, C mean, C std, C* out) {
  const C radius = math::sqrt(C(-2) * math::log(u1));
  const C angle = C(6.283185307179586476925) * u2;
  out[0] = mean + std * (radius * math::cosFast(angle));
  out[1] = mean + std * (radius * math::sinFast(angle));
}

void normalFloat(float* out, const philox::Block* bits, int64_t count, float mean, float std) {
  constexpr float kUlp = 0x1p-32f;
  const uint32_t* words = bits->data();
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < 2 * count; ++i)
    normalPair((static_cast<float>(words[2 * i]) + 0.5f) * kUlp, static_cast<float>(words[2 * i + 1] >> 8) * 0x1p-24f,
               mean, std, out + 2 * i);
}

void normalDouble(double* out, const philox::Block* bits, int64_t count, double mean, double std) {
  constexpr double kUlp = 0x1p-53;
#pragma clang loop vectorize(assume_safety)
  // (0, 1]: the logarithm's argument is never 0.
  for (int64_t i = 0; i < count; ++i)
    normalPair(static_cast<double>((philox::low64(bits[i]) >> 11) + 1) * kUlp,
               static_cast<double>(philox::high64(bits[i]) >> 11) * kUlp, mean, std, out + 2 * i);
}

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const DrawLoops kDrawLoops = {makeBlocks, normalFloat, normalDouble};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::native
