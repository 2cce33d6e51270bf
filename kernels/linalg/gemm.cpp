#include "kernels/linalg/gemm.h"

#include "kernels/linalg/blas.h"
#include "kernels/linalg/one_row.h"
#include "kernels/linalg/small_gemm.h"

#include <shunt/core/error.h>
#include <shunt/core/parallel.h>
#include <shunt/elementwise/cast.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace shunt::linalg {

namespace {

/// Rows of a block of a large product, and the number of multiplications from which a product is large.
constexpr int64_t kBlockRows = 256;
constexpr int64_t kLargeProduct = int64_t{1} << 24;

inline blasint blasInt(int64_t v) {
  SHUNT_CHECK(v <= std::numeric_limits<blasint>::max(), "matrix product: a dimension of ", v,
              " is larger than the BLAS takes");
  return static_cast<blasint>(v);
}

inline CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

// Note [Small products with a transposed right operand]
// OpenBLAS 0.3.21 has a kernel of its own for small products of each pair of orientations, and on CPUs with AVX-512 the
// one for A * B^T, which is what linear() needs, takes twice the time of the others: 6.5 us for 32x128x64, where with A
// stored transposed as well it takes 3.1 us (Skylake; on Zen 4, where OpenBLAS takes the kernels for Cooper Lake, 7.0
// and 4.9). Transposing A takes 0.4 us. Which way a product goes depends on its shape and orientations alone.
constexpr int64_t kSmallProduct = 100 * 100 * 100;  // above it, OpenBLAS has one kernel for all
constexpr int64_t kMaxTransposed = 4096;            // elements of A: 16 KiB on the stack
constexpr int64_t kMinSide = 16;                    // less gains nothing

inline bool transposesLeft(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
  return b_transposed && !a_transposed && m >= kMinSide && n >= kMinSide && k >= kMinSide && m * k <= kMaxTransposed &&
         m * n * k <= kSmallProduct;
}

/// out[j * m + i] = a[i * ld + j], in blocks of 4 x 4, which become vector shuffles.
void transpose(const float* a, int64_t ld, int64_t m, int64_t k, float* out) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= k; j += 4) {
      float block[4][4];
      for (int64_t r = 0; r < 4; ++r)
        for (int64_t c = 0; c < 4; ++c) block[c][r] = a[(i + r) * ld + j + c];
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t r = 0; r < 4; ++r) out[(j + c) * m + i + r] = block[c][r];
    }
    for (; j < k; ++j)
      for (int64_t r = 0; r < 4; ++r) out[j * m + i + r] = a[(i + r) * ld + j];
  }
  for (; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) out[j * m + i] = a[i * ld + j];
}

SHUNT_NOINLINE void gemmTransposingLeft(const BlasFunctions& blas, int64_t m, int64_t n, int64_t k, float alpha,
                                        MatrixView<float> a, MatrixView<float> b, float beta, float* c, int64_t ldc) {
  alignas(64) float left[kMaxTransposed];
  transpose(a.data, a.ld, m, k, left);
  blas.sgemm(CblasRowMajor, CblasTrans, CblasTrans, blasInt(m), blasInt(n), blasInt(k), alpha, left, blasInt(m), b.data,
             blasInt(b.ld), beta, c, blasInt(ldc));
}

}  // namespace

void blasGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta,
              float* c, int64_t ldc) {
  const BlasFunctions& blas = serialBlas();
  if (blas.small_nt_is_slow && transposesLeft(m, n, k, a.transposed, b.transposed)) [[unlikely]]
    return gemmTransposingLeft(blas, m, n, k, alpha, a, b, beta, c, ldc);
  blas.sgemm(CblasRowMajor, flag(a.transposed), flag(b.transposed), blasInt(m), blasInt(n), blasInt(k), alpha, a.data,
             blasInt(a.ld), b.data, blasInt(b.ld), beta, c, blasInt(ldc));
}

void blasGemm(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
              double* c, int64_t ldc) {
  serialBlas().dgemm(CblasRowMajor, flag(a.transposed), flag(b.transposed), blasInt(m), blasInt(n), blasInt(k), alpha,
                     a.data, blasInt(a.ld), b.data, blasInt(b.ld), beta, c, blasInt(ldc));
}

namespace {

/// Of floats and doubles, by whichever library is fastest at it.
template <class T>
void floatingProduct(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, T* c,
                     int64_t ldc) {
  if (m == 1) return multiplyRow(n, k, alpha, a, b, beta, c);
  if (n == 1 && ldc == 1)
    return multiplyRow(m, k, alpha, {b.data, b.ld, !b.transposed}, {a.data, a.ld, !a.transposed}, beta, c);
  if (!smallGemm(m, n, k, alpha, a, b, beta, c, ldc)) blasGemm(m, n, k, alpha, a, b, beta, c, ldc);
}

/// Plain loops in T's own arithmetic, which wraps for integers.
template <class T>
void loopGemm(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, T* c, int64_t ldc) {
  const int64_t row = b.transposed ? 1 : b.ld, column = b.transposed ? b.ld : 1;
  for (int64_t i = 0; i < m; ++i) {
    T* out = c + i * ldc;
    for (int64_t j = 0; j < n; ++j) out[j] = beta == T(0) ? T(0) : static_cast<T>(beta * out[j]);
    for (int64_t l = 0; l < k; ++l) {
      const T factor = static_cast<T>(alpha * (a.transposed ? a.data[l * a.ld + i] : a.data[i * a.ld + l]));
      const T* x = b.data + l * row;
      if (column == 1)
        for (int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(out[j] + factor * x[j]);
      else
        for (int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(out[j] + factor * x[j * column]);
    }
  }
}

/// beta * C, without a product.
template <class T>
void scale(int64_t m, int64_t n, typename GemmScalar<T>::type beta, T* c, int64_t ldc) {
  using A = typename GemmScalar<T>::type;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      c[i * ldc + j] = beta == A(0) ? T(0) : cast<T>(static_cast<A>(beta * cast<A>(c[i * ldc + j])));
}

/// out[i * cols + j] = data[i * ld + j].
template <class T>
void widen(const T* data, int64_t rows, int64_t cols, int64_t ld, float* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = static_cast<float>(data[i * ld + j]);
}

/// The number of columns of B that are widened at a time: 4 MiB of them, since each thread of a large product has such
/// a copy.
inline int64_t panelWidth(int64_t n, int64_t k) {
  constexpr int64_t kPanel = int64_t{1} << 20, kMinWidth = 64;
  return std::min(n, std::max(kMinWidth, kPanel / k / kMinWidth * kMinWidth));
}

/// 16-bit types by way of float: operands widened, one rounding at the end.
template <class T>
void widenedGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<T> a, MatrixView<T> b, float beta, T* c,
                 int64_t ldc) {
  const int64_t width = panelWidth(n, k);
  const auto memory = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(m * k + k * width + m * width));
  float *const wide_a = memory.get(), *const wide_b = wide_a + m * k, *const wide_c = wide_b + k * width;
  a.transposed ? widen(a.data, k, m, a.ld, wide_a) : widen(a.data, m, k, a.ld, wide_a);
  for (int64_t first = 0; first < n; first += width) {
    const int64_t cols = std::min(width, n - first);
    b.transposed ? widen(b.data + first * b.ld, cols, k, b.ld, wide_b) : widen(b.data + first, k, cols, b.ld, wide_b);
    if (beta != 0) widen(c + first, m, cols, ldc, wide_c);
    floatingProduct(m, cols, k, alpha, {wide_a, a.transposed ? m : k, a.transposed},
                    {wide_b, b.transposed ? k : cols, b.transposed}, beta, wide_c, cols);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < cols; ++j) c[i * ldc + first + j] = T(wide_c[i * cols + j]);
  }
}

/// C given: the product of rows without blocks and threads.
template <class T>
void product(int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a, MatrixView<T> b,
             typename GemmScalar<T>::type beta, T* c, int64_t ldc) {
  if constexpr (std::is_floating_point_v<T>) {
    floatingProduct(m, n, k, alpha, a, b, beta, c, ldc);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    if (!gemmBFloat16(m, n, k, alpha, a, b, beta, c, ldc)) widenedGemm(m, n, k, alpha, a, b, beta, c, ldc);
  } else if constexpr (std::is_same_v<T, Half>) {
    widenedGemm(m, n, k, alpha, a, b, beta, c, ldc);
  } else {
    loopGemm(m, n, k, alpha, a, b, beta, c, ldc);
  }
}

inline bool isLarge(int64_t m, int64_t n, int64_t k) { return m >= 2 * kBlockRows && m * n >= kLargeProduct / k; }

/// Rows [first, first + rows) of a large product.
template <class T>
void blockOfRows(int64_t first, int64_t rows, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
                 MatrixView<T> b, typename GemmScalar<T>::type beta, T* c, int64_t ldc) {
  const MatrixView<T> part = {a.data + first * (a.transposed ? 1 : a.ld), a.ld, a.transposed};
  product<T>(rows, n, k, alpha, part, b, beta, c + first * ldc, ldc);
}

}  // namespace

template <class T>
void gemmSerial(int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a, MatrixView<T> b,
                typename GemmScalar<T>::type beta, T* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || alpha == 0) return scale<T>(m, n, beta, c, ldc);
  if (!isLarge(m, n, k)) [[likely]]
    return product<T>(m, n, k, alpha, a, b, beta, c, ldc);
  for (int64_t i = 0; i < m; i += kBlockRows)
    blockOfRows<T>(i, std::min(kBlockRows, m - i), n, k, alpha, a, b, beta, c, ldc);
}

template <class T>
void gemmSerialEach(int64_t count, int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
                    int64_t a_distance, MatrixView<T> b, int64_t b_distance, typename GemmScalar<T>::type beta, T* c,
                    int64_t ldc, int64_t c_distance) {
  if constexpr (std::is_floating_point_v<T>)
    if (m > 1 && n > 1 && k > 0 &&
        smallGemmEach(count, m, n, k, alpha, a, a_distance, b, b_distance, beta, c, ldc, c_distance))
      return;
  for (int64_t i = 0; i < count; ++i)
    gemmSerial<T>(m, n, k, alpha, {a.data + i * a_distance, a.ld, a.transposed},
                  {b.data + i * b_distance, b.ld, b.transposed}, beta, c + i * c_distance, ldc);
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a, MatrixView<T> b,
          typename GemmScalar<T>::type beta, T* c, int64_t ldc) {
  if (k == 0 || !isLarge(m, n, k)) [[likely]]
    return gemmSerial<T>(m, n, k, alpha, a, b, beta, c, ldc);
  parallelFor(0, m, kBlockRows, [&](int64_t begin, int64_t end) {
    gemmSerial<T>(end - begin, n, k, alpha, {a.data + begin * (a.transposed ? 1 : a.ld), a.ld, a.transposed}, b, beta,
                  c + begin * ldc, ldc);
  });
}

template <class T>
void gemmEach(int64_t count, int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
              int64_t a_distance, MatrixView<T> b, int64_t b_distance, typename GemmScalar<T>::type beta, T* c) {
  const int64_t ldc = std::max<int64_t>(n, 1);
  if (count == 1) return gemm<T>(m, n, k, alpha, a, b, beta, c, ldc);
  const auto products = [&](int64_t begin, int64_t end) {
    gemmSerialEach<T>(end - begin, m, n, k, alpha, {a.data + begin * a_distance, a.ld, a.transposed}, a_distance,
                      {b.data + begin * b_distance, b.ld, b.transposed}, b_distance, beta, c + begin * m * n, ldc,
                      m * n);
  };
  const int64_t work = m * n * std::max<int64_t>(k, 1);
  if (work == 0 || count <= kDefaultGrain / work)
    products(0, count);
  else
    parallelFor(0, count, std::max<int64_t>(1, kDefaultGrain / work), products);
}

#define SHUNT_GEMM(T)                                                                                              \
  template void gemm<T>(int64_t, int64_t, int64_t, GemmScalar<T>::type, MatrixView<T>, MatrixView<T>,              \
                        GemmScalar<T>::type, T*, int64_t);                                                         \
  template void gemmSerial<T>(int64_t, int64_t, int64_t, GemmScalar<T>::type, MatrixView<T>, MatrixView<T>,        \
                              GemmScalar<T>::type, T*, int64_t);                                                   \
  template void gemmSerialEach<T>(int64_t, int64_t, int64_t, int64_t, GemmScalar<T>::type, MatrixView<T>, int64_t, \
                                  MatrixView<T>, int64_t, GemmScalar<T>::type, T*, int64_t, int64_t);              \
  template void gemmEach<T>(int64_t, int64_t, int64_t, int64_t, GemmScalar<T>::type, MatrixView<T>, int64_t,       \
                            MatrixView<T>, int64_t, GemmScalar<T>::type, T*);
SHUNT_GEMM(float)
SHUNT_GEMM(double)
SHUNT_GEMM(BFloat16)
SHUNT_GEMM(Half)
SHUNT_GEMM(uint8_t)
SHUNT_GEMM(int8_t)
SHUNT_GEMM(int16_t)
SHUNT_GEMM(int32_t)
SHUNT_GEMM(int64_t)
#undef SHUNT_GEMM

void gemv(int64_t m, int64_t k, float alpha, MatrixView<float> a, const float* x, int64_t x_stride, float beta,
          float* y) {
  serialBlas().sgemv(a.transposed ? CblasColMajor : CblasRowMajor, CblasNoTrans, blasInt(m), blasInt(k), alpha, a.data,
                     blasInt(a.ld), x, blasInt(x_stride), beta, y, 1);
}

void gemv(int64_t m, int64_t k, double alpha, MatrixView<double> a, const double* x, int64_t x_stride, double beta,
          double* y) {
  serialBlas().dgemv(a.transposed ? CblasColMajor : CblasRowMajor, CblasNoTrans, blasInt(m), blasInt(k), alpha, a.data,
                     blasInt(a.ld), x, blasInt(x_stride), beta, y, 1);
}

float dot(int64_t n, const float* x, int64_t x_stride, const float* y, int64_t y_stride) {
  return serialBlas().sdot(blasInt(n), x, blasInt(x_stride), y, blasInt(y_stride));
}

double dot(int64_t n, const double* x, int64_t x_stride, const double* y, int64_t y_stride) {
  return serialBlas().ddot(blasInt(n), x, blasInt(x_stride), y, blasInt(y_stride));
}

}  // namespace shunt::linalg
