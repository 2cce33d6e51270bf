// The maths kernels of the instruction sets that this CPU has.
#include "tests/math/math_kernels.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace shunt::math_test {

const UnaryKernel& Kernels::find(const char* name) const {
  for (const UnaryKernel& k : unary)
    if (std::strcmp(k.name, name) == 0) return k;
  throw std::invalid_argument(std::string("no kernel named ") + name);
}

std::span<const Kernels* const> supportedKernels() {
  static const std::vector<const Kernels*> tables = [] {
    std::vector<const Kernels*> found = {&kernelsBaseline()};
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v3) found.push_back(&kernelsV3());
    if (v4) found.push_back(&kernelsV4());
    return found;
  }();
  return tables;
}

}  // namespace shunt::math_test
