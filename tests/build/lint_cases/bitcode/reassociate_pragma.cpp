// expect: has fast-math flags
float kernel(const float* x, long n) {
#pragma clang fp reassociate(on)
  float sum = 0;
  for (long i = 0; i < n; ++i) sum = sum + x[i];
  return sum;
}
