// expect: uses expf
// flags: -fmath-errno
#include <cmath>
void kernel(float* x, long n) {
  for (long i = 0; i < n; ++i) x[i] = std::exp(x[i]);
}
