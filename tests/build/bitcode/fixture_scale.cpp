// A unit of the fixture: one loop, which must arrive in the bitcode unvectorised and uninstrumented.
#include <cstdint>

__attribute__((visibility("default"))) void fixtureScale(float* out, const float* in, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] * factor;
}
