#include "kernels/linalg/row_dots.h"

#include <shunt/core/isa.h>

#include <immintrin.h>
#include <algorithm>

#define SHUNT_AVX2 [[gnu::target("avx2,fma"), gnu::always_inline]] inline

namespace shunt::linalg {

namespace {

constexpr int kRows =
    8;  // of the matrix at a time: as many sums as hide the latency of two fused multiply-adds a cycle

/// A register of floats or doubles.
struct Floats {
  using T = float;
  using V = __m256;
  static constexpr int64_t kLanes = 8;
  SHUNT_AVX2 static V zero() { return _mm256_setzero_ps(); }
  SHUNT_AVX2 static V load(const T* p) { return _mm256_loadu_ps(p); }
  SHUNT_AVX2 static V multiplyAdd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  /// The first `count` lanes; nothing else is read.
  SHUNT_AVX2 static V load(const T* p, int64_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane));
  }
  SHUNT_AVX2 static void total(const V (&s)[kRows], T* out) {
    const V a = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    const V b = _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));
    _mm256_storeu_ps(out, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
  }
};

struct Doubles {
  using T = double;
  using V = __m256d;
  static constexpr int64_t kLanes = 4;
  SHUNT_AVX2 static V zero() { return _mm256_setzero_pd(); }
  SHUNT_AVX2 static V load(const T* p) { return _mm256_loadu_pd(p); }
  SHUNT_AVX2 static V multiplyAdd(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  SHUNT_AVX2 static V load(const T* p, int64_t count) {
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lane));
  }
  SHUNT_AVX2 static void total(const V (&s)[kRows], T* out) {
    for (int i = 0; i < kRows; i += 4) {
      const V a = _mm256_hadd_pd(s[i], s[i + 1]), b = _mm256_hadd_pd(s[i + 2], s[i + 3]);
      _mm256_storeu_pd(out + i, _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31)));
    }
  }
};

/// The sums of eight rows, the r-th at w + r * ld, or at the last of `rows` of them.
template <class L, class T = typename L::T>
SHUNT_AVX2 void dotsOfBlock(int64_t rows, int64_t k, const T* w, int64_t ld, const T* x, T* total) {
  typename L::V sums[kRows];
  const T* row[kRows];
  for (int r = 0; r < kRows; ++r) {
    sums[r] = L::zero();
    row[r] = w + (r < rows ? r : rows - 1) * ld;
  }
  const int64_t whole = k - k % L::kLanes;
  for (int64_t l = 0; l < whole; l += L::kLanes) {
    const typename L::V v = L::load(x + l);
    for (int r = 0; r < kRows; ++r) sums[r] = L::multiplyAdd(L::load(row[r] + l), v, sums[r]);
  }
  if (whole < k) {
    const typename L::V v = L::load(x + whole, k - whole);
    for (int r = 0; r < kRows; ++r) sums[r] = L::multiplyAdd(L::load(row[r] + whole, k - whole), v, sums[r]);
  }
  L::total(sums, total);
}

template <class L, class T = typename L::T>
[[gnu::target("avx2,fma")]] void dots(int64_t n, int64_t k, const T* w, int64_t ld, const T* x, T beta, T* y) {
  T total[kRows];
  int64_t j = 0;
  for (; j + kRows <= n; j += kRows) {
    dotsOfBlock<L>(kRows, k, w + j * ld, ld, x, total);
    if (beta == 0)
      for (int r = 0; r < kRows; ++r) y[j + r] = total[r];
    else
      for (int r = 0; r < kRows; ++r) y[j + r] = beta * y[j + r] + total[r];
  }
  if (j == n) return;
  dotsOfBlock<L>(n - j, k, w + j * ld, ld, x, total);
  for (int r = 0; j < n; ++j, ++r) y[j] = beta == 0 ? total[r] : beta * y[j] + total[r];
}

bool hasAvx2() { return detail::activeIsa() != Isa::kBaseline; }

}  // namespace

bool rowDots(int64_t n, int64_t k, const float* w, int64_t ld, const float* x, float beta, float* y) {
  if (!hasAvx2()) return false;
  dots<Floats>(n, k, w, ld, x, beta, y);
  return true;
}
bool rowDots(int64_t n, int64_t k, const double* w, int64_t ld, const double* x, double beta, double* y) {
  if (!hasAvx2()) return false;
  dots<Doubles>(n, k, w, ld, x, beta, y);
  return true;
}

}  // namespace shunt::linalg
