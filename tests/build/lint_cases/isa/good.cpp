// expect: clean
#include <array>
#include <cmath>
inline constexpr float kTable[] = {1, 2, 3, 4, 5, 6, 7, 8};
namespace SHUNT_ISA_NAMESPACE {
namespace {
template <class T>
T twice(T x) {
  return x + x;
}
}  // namespace
void loop(float* x, const std::array<float, 2>& factor, long n) {
  for (long i = 0; i < n; ++i) x[i] = twice(x[i]) * factor[1] * kTable[n & 7] + std::floor(x[i]);
}
}  // namespace SHUNT_ISA_NAMESPACE
