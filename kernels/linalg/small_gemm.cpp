#include "kernels/linalg/small_gemm.h"

#include "kernels/linalg/one_row.h"
#include "kernels/linalg/small_kernels.h"

#include <shunt/core/isa.h>

#include <immintrin.h>
#include <cstddef>
#include <utility>

namespace shunt::linalg {

namespace {

using ::shunt::Isa;

constexpr int64_t kMostProducts = 64 * 64 * 64;
constexpr int64_t kLongestSide = 1024;
constexpr int64_t kLongestRow = int64_t{1} << 20;  // leading dimensions, which a key has 21 bits for
constexpr int64_t kMostCopied = 16 * 1024;         // bytes of B, on the stack

template <class T>
constexpr bool isDouble = sizeof(T) == sizeof(double);

bool hasRoom(int64_t m, int64_t n, int64_t k, bool b_transposed, size_t element_size) {
  if (m > kLongestSide || n > kLongestSide || k > kLongestSide || m * n * k > kMostProducts) return false;
  return !b_transposed || n * k * static_cast<int64_t>(element_size) <= kMostCopied;
}

/// What is faster than OpenBLAS's way, as measured: few columns of a long sum are not, nor is a copy of B that few rows
/// use. Not of one row or column: one_row.h.
bool isClass(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, size_t element_size) {
  if (!hasRoom(m, n, k, b_transposed, element_size)) return false;
  if (n < 8 && k > 16) return false;
  if (a_transposed && n < 16 && m > 8) return false;
  if (!b_transposed) return true;
  return k <= 16 || (n >= 16 && m >= 24 && (n * k <= 2048 || m >= 48));
}

/// LIBXSMM's code leaves the vectors' upper halves dirty, after which each instruction of older sets waits for them.
[[gnu::target("avx")]] inline void cleanVectors() { __builtin_ia32_vzeroupper(); }

/// The transpose of a square block; two rows of four floats, or of two doubles, in each register.
[[gnu::target("avx")]] inline void transposeBlock(const float* in, int64_t ld, float* out, int64_t out_ld) {
  for (int half = 0; half < 2; ++half, in += 4, out += 4 * out_ld) {
    const auto rows = [&](int i) __attribute__((target("avx"))) {
      return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + i * ld)), _mm_loadu_ps(in + (i + 4) * ld),
                                  1);
    };
    const __m256 r0 = rows(0), r1 = rows(1), r2 = rows(2), r3 = rows(3);
    const __m256 a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1);
    const __m256 c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);
    _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(out + out_ld, _mm256_shuffle_ps(a, c, 0xee));
    _mm256_storeu_ps(out + 2 * out_ld, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(out + 3 * out_ld, _mm256_shuffle_ps(b, d, 0xee));
  }
}
[[gnu::target("avx")]] inline void transposeBlock(const double* in, int64_t ld, double* out, int64_t out_ld) {
  for (int half = 0; half < 2; ++half, in += 2, out += 2 * out_ld) {
    const auto rows = [&](int i) __attribute__((target("avx"))) {
      return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(in + i * ld)), _mm_loadu_pd(in + (i + 2) * ld),
                                  1);
    };
    const __m256d r0 = rows(0), r1 = rows(1);
    _mm256_storeu_pd(out, _mm256_unpacklo_pd(r0, r1));
    _mm256_storeu_pd(out + out_ld, _mm256_unpackhi_pd(r0, r1));
  }
}

/// out[j * rows + i] = in[i * ld + j].
template <class T>
[[gnu::target("avx")]] void transpose(const T* in, int64_t ld, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t kBlock = 32 / sizeof(T);
  const int64_t whole_rows = rows - rows % kBlock, whole_cols = cols - cols % kBlock;
  for (int64_t i = 0; i < whole_rows; i += kBlock)
    for (int64_t j = 0; j < whole_cols; j += kBlock) transposeBlock(in + i * ld + j, ld, out + j * rows + i, rows);
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = j < whole_cols ? whole_rows : 0; i < rows; ++i) out[j * rows + i] = in[i * ld + j];
}

// UBSan's check of indirect calls would read what stands before the code: nothing does.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
SHUNT_ALWAYS_INLINE void multiply(SmallKernel kernel, const void* a, const void* b, void* c) {
  kernel(b, a, c);
  cleanVectors();
}

/// Of each product, by the one kernel that is its shape's. Nothing between two of them is slowed by dirty vectors.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
void multiplyEach(SmallKernel kernel, int64_t count, const std::byte* a, int64_t a_bytes, const std::byte* b,
                  int64_t b_bytes, std::byte* c, int64_t c_bytes) {
  for (int64_t i = 0; i < count; ++i) kernel(b + i * b_bytes, a + i * a_bytes, c + i * c_bytes);
  cleanVectors();
}

template <class T>
SHUNT_NOINLINE bool transposingRight(SmallProblem p, const T* a, const T* b, T* c) {
  const int64_t ldb = std::exchange(p.ldb, p.n);
  const UsedKernel kernel(p);
  if (kernel.get() == nullptr) return false;
  alignas(64) T copy[kMostCopied / sizeof(T)];
  transpose(b, ldb, p.n, p.k, copy);
  multiply(kernel.get(), a, copy, c);
  return true;
}

/// Whether there can be a kernel with these factors and leading dimensions.
template <class T>
SHUNT_ALWAYS_INLINE bool isUsual(T alpha, MatrixView<T> a, MatrixView<T> b, T beta, int64_t ldc) {
  if (alpha != 1 || (beta != 0 && beta != 1)) return false;
  return a.ld <= kLongestRow && b.ld <= kLongestRow && ldc <= kLongestRow && detail::activeIsa() != Isa::kBaseline;
}

template <class T>
SHUNT_ALWAYS_INLINE bool run(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, T* c,
                             int64_t ldc) {
  if (!isUsual(alpha, a, b, beta, ldc)) return false;
  const SmallProblem problem{m, n, k, a.ld, b.ld, ldc, a.transposed, beta == 1, isDouble<T>};
  if (b.transposed) return transposingRight(problem, a.data, b.data, c);
  const UsedKernel kernel(problem);
  if (kernel.get() == nullptr) return false;
  multiply(kernel.get(), a.data, b.data, c);
  return true;
}

template <class T>
SmallKernel kept(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, int64_t ldc) {
  if (b.transposed || !isUsual(alpha, a, b, beta, ldc)) return nullptr;
  const UsedKernel kernel({m, n, k, a.ld, b.ld, ldc, a.transposed, beta == 1, isDouble<T>});
  return kernel.isKept() ? kernel.get() : nullptr;
}

template <class T>
bool runEach(int64_t count, int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, int64_t a_distance,
             MatrixView<T> b, int64_t b_distance, T beta, T* c, int64_t ldc, int64_t c_distance) {
  // A copy of B is made for each, so that there is little to look up once.
  if (b.transposed || !isClass(m, n, k, a.transposed, false, sizeof(T)) || !isUsual(alpha, a, b, beta, ldc))
    return false;
  const UsedKernel kernel({m, n, k, a.ld, b.ld, ldc, a.transposed, beta == 1, isDouble<T>});
  if (kernel.get() == nullptr) return false;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  multiplyEach(kernel.get(), count, reinterpret_cast<const std::byte*>(a.data), a_distance * kBytes,
               reinterpret_cast<const std::byte*>(b.data), b_distance * kBytes, reinterpret_cast<std::byte*>(c),
               c_distance * kBytes);
  return true;
}

}  // namespace

bool smallGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta,
               float* c, int64_t ldc) {
  return isClass(m, n, k, a.transposed, b.transposed, sizeof(float)) && run(m, n, k, alpha, a, b, beta, c, ldc);
}
bool smallGemm(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
               double* c, int64_t ldc) {
  return isClass(m, n, k, a.transposed, b.transposed, sizeof(double)) && run(m, n, k, alpha, a, b, beta, c, ldc);
}

bool smallGemmEach(int64_t count, int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, int64_t a_distance,
                   MatrixView<float> b, int64_t b_distance, float beta, float* c, int64_t ldc, int64_t c_distance) {
  return runEach(count, m, n, k, alpha, a, a_distance, b, b_distance, beta, c, ldc, c_distance);
}
bool smallGemmEach(int64_t count, int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a,
                   int64_t a_distance, MatrixView<double> b, int64_t b_distance, double beta, double* c, int64_t ldc,
                   int64_t c_distance) {
  return runEach(count, m, n, k, alpha, a, a_distance, b, b_distance, beta, c, ldc, c_distance);
}

bool smallRow(int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float beta, float* c) {
  return hasRoom(1, n, k, b.transposed, sizeof(float)) && run(1, n, k, 1.0f, a, b, beta, c, n);
}
bool smallRow(int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double beta, double* c) {
  return hasRoom(1, n, k, b.transposed, sizeof(double)) && run(1, n, k, 1.0, a, b, beta, c, n);
}

SmallKernel keptSmallKernel(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b,
                            float beta, int64_t ldc) {
  return kept(m, n, k, alpha, a, b, beta, ldc);
}
SmallKernel keptSmallKernel(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b,
                            double beta, int64_t ldc) {
  return kept(m, n, k, alpha, a, b, beta, ldc);
}
void runSmallKernel(SmallKernel kernel, const void* a, const void* b, void* c) { multiply(kernel, a, b, c); }

bool fitsSmallKernel(int64_t m, int64_t n, int64_t k, bool b_transposed, size_t element_size) {
  return hasRoom(m, n, k, b_transposed, element_size) && detail::activeIsa() != Isa::kBaseline;
}

bool isSmallProduct(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, size_t element_size) {
  if (m == 1) return rowEngine(n, k, b_transposed, element_size) == RowEngine::kSmall;
  if (n == 1) return rowEngine(m, k, !a_transposed, element_size) == RowEngine::kSmall;
  return isClass(m, n, k, a_transposed, b_transposed, element_size) && detail::activeIsa() != Isa::kBaseline;
}

uint64_t smallKernelsMade() { return smallKernelCount(); }
uint64_t smallKernelsKept() { return kMostSmallKernels; }

}  // namespace shunt::linalg
