// Compiled once per instruction set: a vectorised loop, no bitcode.
#include <cstdint>

namespace SHUNT_ISA_NAMESPACE {

__attribute__((visibility("default"))) void fixtureLoop(float* out, const float* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] + in[i];
}

}  // namespace SHUNT_ISA_NAMESPACE
