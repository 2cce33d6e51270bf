// expect: clean
#include <array>
#include <cmath>
namespace SHUNT_ISA_NAMESPACE {
namespace {
template <class T>
T twice(T x) { return x + x; }
}  // namespace
void loop(float* x, const std::array<float, 2>& factor, long n) {
  for (long i = 0; i < n; ++i) x[i] = twice(x[i]) * factor[1] + std::floor(x[i]);
}
}  // namespace SHUNT_ISA_NAMESPACE
