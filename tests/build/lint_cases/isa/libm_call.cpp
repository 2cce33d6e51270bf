// expect: calls tanhf of libm
#include <cmath>
namespace SHUNT_ISA_NAMESPACE {
void loop(float* x, long n) {
  for (long i = 0; i < n; ++i) x[i] = std::tanh(x[i]);
}
}  // namespace SHUNT_ISA_NAMESPACE
